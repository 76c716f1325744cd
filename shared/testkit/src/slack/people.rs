//! How people act: they write, change, delete, share files, react, press buttons and stop agents.

use super::{
    fake::FakeSlack,
    render,
    state::{FakeFile, FakeMessage},
};

/// A file to share.
#[derive(Debug, Clone)]
pub struct Upload {
    /// Name with the extension.
    pub name: String,
    /// Media type, such as `text/plain`.
    pub mimetype: String,
    /// Content of the file.
    pub bytes: Vec<u8>,
}

impl Upload {
    /// Returns a file with this content.
    pub fn new(name: &str, mimetype: &str, bytes: impl Into<Vec<u8>>) -> Self {
        Self {
            name: name.to_owned(),
            mimetype: mimetype.to_owned(),
            bytes: bytes.into(),
        }
    }
}

impl FakeSlack {
    /// Writes a message as a user. `thread_ts` makes it a reply. Returns the timestamp.
    ///
    /// The text is in Slack's markup: [`FakeSlack::mention`] returns the bot's mention.
    pub fn say(&self, channel: &str, user: &str, text: &str, thread_ts: Option<&str>) -> String {
        self.share_files(channel, user, text, &[], thread_ts)
    }

    /// Shares a file as a user, with a text. Returns the message's timestamp.
    pub fn share_file(
        &self,
        channel: &str,
        user: &str,
        text: &str,
        upload: Upload,
        thread_ts: Option<&str>,
    ) -> String {
        self.share_files(channel, user, text, &[upload], thread_ts)
    }

    /// Shares several files in one message. Returns the message's timestamp.
    pub fn share_files(
        &self,
        channel: &str,
        user: &str,
        text: &str,
        uploads: &[Upload],
        thread_ts: Option<&str>,
    ) -> String {
        self.shared.change(|workspace| {
            assert!(workspace.users.contains_key(user), "no user {user}");
            assert!(workspace.channels.contains_key(channel), "no {channel}");
            let created = workspace.clock.seconds();
            let mut files = Vec::new();
            for upload in uploads {
                let id = workspace.id("F");
                let file = FakeFile {
                    id: id.clone(),
                    name: upload.name.clone(),
                    title: upload.name.clone(),
                    mimetype: upload.mimetype.clone(),
                    user: user.to_owned(),
                    bytes: upload.bytes.clone(),
                    created,
                    announced: upload.bytes.len(),
                    is_complete: true,
                    channels: vec![channel.to_owned()],
                };
                workspace.files.insert(id.clone(), file);
                files.push(id);
            }
            let message = FakeMessage {
                user: user.to_owned(),
                text: text.to_owned(),
                thread_ts: thread_ts.map(str::to_owned),
                subtype: (!files.is_empty()).then(|| "file_share".to_owned()),
                files,
                ..FakeMessage::default()
            };
            workspace.post(channel, message).ts
        })
    }

    /// Changes a message's text as its author.
    pub fn edit(&self, channel: &str, ts: &str, text: &str) {
        self.shared.change(|workspace| {
            let message = workspace.message(channel, ts).expect("the message exists");
            let before = render::message(workspace, channel, message);
            let edited = workspace.clock.next_ts();
            let message = workspace.message_mut(channel, ts).unwrap();
            text.clone_into(&mut message.text);
            message.edited = Some(edited);
            message.edits += 1;
            workspace.announce_change(channel, &before, ts);
        });
    }

    /// Deletes a message as its author.
    pub fn delete(&self, channel: &str, ts: &str) {
        self.shared
            .change(|workspace| workspace.remove(channel, ts));
    }

    /// Adds a user's reaction to a message.
    pub fn react(&self, channel: &str, ts: &str, user: &str, name: &str) {
        self.shared.change(|workspace| {
            let message = workspace.message_mut(channel, ts);
            message.expect("the message exists").react(user, name);
        });
    }

    /// Presses the button with this `action_id` on a message.
    ///
    /// # Panics
    /// When the message has no such button.
    pub fn press(&self, channel: &str, ts: &str, action_id: &str, user: &str) {
        let pressed = self
            .shared
            .change(|workspace| workspace.send_press(channel, ts, action_id, user));
        pressed.expect("the message has the button");
    }

    /// Stops the agent's session with the platform's button, while this stream is open.
    pub fn stop_session(&self, channel: &str, stream: &str, user: &str) {
        self.shared.change(|workspace| {
            let message = workspace.message_mut(channel, stream);
            message.expect("the stream exists").is_stopped = true;
            workspace.send_session_stop(channel, stream, user);
        });
    }
}
