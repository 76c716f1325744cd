//! `files.info`, and the two calls around an upload.

use serde_json::{Value, json};

use super::answer::{Answer, Outcome};
use crate::slack::{
    arguments::Arguments,
    render,
    state::{FakeFile, FakeMessage, Workspace},
};

/// Maximum bytes in a file.
const FILE_MAX: usize = 1_000_000_000;

pub(super) fn info(workspace: &mut Workspace, arguments: &Arguments) -> Outcome {
    let id = arguments.text("file").unwrap_or_default();
    let file = workspace.files.get(id.as_ref());
    let file = file.filter(|file| file.is_complete);
    let file = file.ok_or_else(|| Answer::error("file_not_found"))?;
    Ok(json!({ "file": render::file(workspace, file) }))
}

pub(super) fn address(workspace: &mut Workspace, arguments: &Arguments) -> Outcome {
    let name = arguments.required("filename")?;
    let length = arguments.required("length")?;
    let length = length.parse().ok().filter(|length| *length > 0);
    let length = length.ok_or_else(|| Answer::missing("length"))?;
    if length > FILE_MAX {
        return Err(Answer::error("file_upload_size_restricted"));
    }
    let id = workspace.id("F");
    let file = FakeFile {
        id: id.clone(),
        title: name.clone(),
        mimetype: media_type(&name).to_owned(),
        name,
        user: workspace.bot_user.clone(),
        announced: length,
        created: workspace.clock.seconds(),
        ..FakeFile::default()
    };
    workspace.files.insert(id.clone(), file);
    let url = format!("http://{}/upload/v1/{id}", workspace.authority);
    Ok(json!({ "upload_url": url, "file_id": id }))
}

pub(super) fn complete(workspace: &mut Workspace, arguments: &Arguments) -> Outcome {
    let listed = arguments.json("files", "invalid_arguments")?;
    let listed = listed.as_array().filter(|files| !files.is_empty());
    let listed = listed.ok_or_else(|| Answer::missing("files"))?;
    let channels = arguments.text("channel_id").or(arguments.text("channels"));
    let channels = channels.unwrap_or_default();
    let channels: Vec<&str> = channels.split(',').filter(|id| !id.is_empty()).collect();
    let thread_ts = arguments.text("thread_ts").map(|ts| ts.into_owned());
    for channel in &channels {
        workspace.writable(channel)?;
        workspace.check_thread(channel, thread_ts.as_deref())?;
    }
    let ids: Vec<String> = listed
        .iter()
        .map(|one| one["id"].as_str().unwrap_or_default().to_owned())
        .collect();
    let is_uploaded = |id: &String| {
        let file = workspace.files.get(id);
        file.is_some_and(|file| !file.bytes.is_empty() && !file.is_complete)
    };
    if !ids.iter().all(is_uploaded) {
        return Err(Answer::error("file_not_found"));
    }
    for (id, one) in ids.iter().zip(listed) {
        let file = workspace.files.get_mut(id).expect("it was found before");
        file.is_complete = true;
        file.channels
            .extend(channels.iter().map(|id| (*id).to_owned()));
        if let Some(title) = one["title"].as_str() {
            title.clone_into(&mut file.title);
        }
    }
    for channel in channels {
        let message = FakeMessage {
            thread_ts: thread_ts.clone(),
            text: arguments
                .text("initial_comment")
                .unwrap_or_default()
                .into_owned(),
            subtype: Some("file_share".to_owned()),
            files: ids.clone(),
            ..workspace.own_message()
        };
        workspace.post(channel, message);
    }
    let files: Vec<Value> = ids
        .iter()
        .map(|id| render::file(workspace, &workspace.files[id]))
        .collect();
    Ok(json!({ "files": files }))
}

/// Returns the media type that a name's extension stands for.
fn media_type(name: &str) -> &'static str {
    match name.rsplit_once('.').map_or("", |(_, extension)| extension) {
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "gif" => "image/gif",
        "pdf" => "application/pdf",
        "json" => "application/json",
        _ => "text/plain",
    }
}
