"""The owner's last word on the whole product, in processes of its own."""
