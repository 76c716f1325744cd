// A Bolt app in Socket Mode that answers one mention and one button. usage: bolt_app.cjs URL < INPUT; reports JSON.

const { App } = require("@slack/bolt");

async function main(url, given) {
  const app = new App({
    token: given.token,
    appToken: given.appToken,
    socketMode: true,
    logLevel: "error",
    clientOptions: { slackApiUrl: `${url}/` },
  });
  const seen = [];
  const pressed = new Promise((done) => {
    app.event("app_mention", async ({ event, say }) => {
      seen.push(event.text);
      const label = { type: "plain_text", text: "Go" };
      const button = { type: "button", action_id: "go", text: label, value: "1" };
      const blocks = [{ type: "actions", elements: [button] }];
      await say({ text: "Ready?", thread_ts: event.ts, blocks });
    });
    app.action("go", async ({ ack, action, say }) => {
      await ack();
      await say(`Pressed ${action.value}`);
      seen.push(action.value);
      done();
    });
  });
  await app.start();
  await pressed;
  await app.stop();
  console.log(JSON.stringify(seen));
}

let input = "";
process.stdin.on("data", (part) => (input += part));
process.stdin.on("end", () => main(process.argv[2], JSON.parse(input)).then(() => process.exit()));
