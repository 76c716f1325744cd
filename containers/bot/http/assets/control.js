// The control of a live run: a message to the agent, a soft stop, a hard stop. It floats above the page and keeps its
// size, so that nothing moves.

/** How long the hard stop waits for its confirmation, in milliseconds. */
const CONFIRM_MS = 4000;
const NOTES = {
  404: "This page can no longer control the run. Reload it.",
  409: "The run has already finished.",
  503: "The service is not available right now. Try again.",
};

/** Shows the control. `stopping` is called when a stop was accepted, `sending` with a message. */
export function offerControl(bar, { stopping, sending }) {
  const note = bar.querySelector("#action-note");
  const form = bar.querySelector("#steer");
  const field = bar.querySelector("#steer-text");
  const kill = bar.querySelector("#kill");
  const soft = bar.querySelector("#stop");
  let armed;

  const disarm = () => {
    clearTimeout(armed);
    armed = undefined;
    kill.textContent = "Abort";
  };
  const stop = async (mode) => {
    note.textContent = "";
    if (await post(note, "stop", { mode })) {
      soft.disabled = true;
      stopping();
    }
  };
  soft.addEventListener("click", () => stop("soft"));
  kill.addEventListener("click", () => {
    if (armed === undefined) {
      kill.textContent = "Abort now?";
      armed = setTimeout(disarm, CONFIRM_MS);
      return;
    }
    disarm();
    stop("hard");
  });
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const text = field.value.trim();
    if (!text) return;
    note.textContent = "";
    field.value = "";
    const { accept, undo } = sending(text);
    if (await post(note, "steer", {}, { text })) {
      accept();
      note.textContent = "The agent reads the message after its current step.";
    } else {
      undo();
      field.value ||= text;
    }
  });
  bar.hidden = false;
}

/** Sends one action. Shows the reason if it is refused. */
async function post(note, action, more, body) {
  const query = new URLSearchParams(location.search);
  for (const [name, value] of Object.entries(more)) query.set(name, value);
  try {
    const answer = await fetch(`${location.pathname}/${action}?${query}`, {
      method: "POST",
      headers: body && { "content-type": "application/json" },
      body: body && JSON.stringify(body),
    });
    if (!answer.ok) note.textContent = NOTES[answer.status] ?? (await reason(answer));
    return answer.ok;
  } catch {
    note.textContent = "The service did not answer. Try again.";
    return false;
  }
}

async function reason(answer) {
  try {
    return (await answer.json()).error ?? "The service refused this.";
  } catch {
    return "The service refused this.";
  }
}
