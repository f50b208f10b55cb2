"""OAuth 2.1 for programs: they introduce themselves, and a person chooses, for each sign-in, whom they speak as."""
