// What every page does: local times, the reader's own name, counts that follow.
import { localise } from "./local.js";
import { follow } from "./me.js";

localise(document.body);
if (document.body.dataset.me) follow();
