// What every page does: local times, the reader's own name, forms without reloading, counts that follow.
import { postForms } from "./forms.js";
import { countTime, localise } from "./local.js";
import { follow } from "./me.js";
import { followQuestions } from "./questions.js";
import { openOutputs } from "./steps.js";

localise(document.body);
countTime();
followQuestions();
postForms();
openOutputs();
if (document.body.dataset.me) follow();
