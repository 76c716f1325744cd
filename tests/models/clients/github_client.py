"""Scenarios of PyGithub. usage: github_client.py SCENARIO URL < INPUT; reports JSON."""

import json
import sys

from github import Auth, Github, GithubException, GithubIntegration


def converse(url, given):
    """Opens and reads a pull request, reviews it, and comments on an issue, as an app."""
    key = Auth.AppAuth(given["app"], given["key"])
    integration = GithubIntegration(auth=key, base_url=url, retry=None)
    token = integration.get_access_token(given["installation"], permissions=given["permissions"]).token
    api = Github(auth=Auth.Token(token), base_url=url, retry=None)
    repo = api.get_repo("acme/app")
    pull = repo.create_pull(base="main", head="topic", title="Fix", body="b", draft=True)
    pull.edit(title="Better")
    review = pull.create_review(body="Fine.", event="COMMENT", comments=[
        {"path": "a", "line": 1, "side": "RIGHT", "body": "Why?"},
    ])
    pull.create_review_comment_reply(pull.get_review_comments()[0].id, "Because.")
    # The client asks for each comment that is no reply again, so the field is read from the list.
    _, raw = api.requester.requestJsonAndCheck("GET", f"{pull.url}/comments")
    lines = [[one.path, one.line, one.user.login, one.body] for one in pull.get_review_comments()]
    numbers = {"owner": "acme", "name": "app", "number": pull.number, "replies": True}
    _, graph = api.requester.graphql_query(given["threads"], numbers)
    threads = graph["data"]["repository"]["pullRequest"]["reviewThreads"]["nodes"]
    issue = repo.create_issue("Slow", "b", labels=["bug"])
    comment = issue.create_comment("hi")
    comment.edit("ho")
    issue.edit(state="closed")
    check = repo.create_check_run("ars", pull.head.sha, status="completed", conclusion="success")
    return {
        "app": integration.get_app().slug,
        "default": repo.default_branch,
        "pull": [pull.number, pull.title, pull.draft, pull.user.login, pull.changed_files],
        "pulls": [[one.number, one.head.sha] for one in repo.get_pulls(state="all")],
        "files": [[file.filename, file.additions, file.patch] for file in pull.get_files()],
        "review": [review.state, review.user.login],
        "reviews": pull.get_reviews().totalCount,
        "lines": [[*line, one.get("in_reply_to_id")] for line, one in zip(lines, raw)],
        "threads": [[one["path"], one["line"], one["isResolved"], len(one["latest"]["nodes"])] for one in threads],
        "comments": [one.body for one in issue.get_comments()],
        "open": [one.title for one in repo.get_issues()],
        "issues": [one.title for one in repo.get_issues(state="closed", labels=["bug"])],
        "found": [one.number for one in api.search_issues("slow repo:acme/app")],
        "content": repo.get_contents("a").decoded_content.decode(),
        "check": check.conclusion,
        "missing": missing([
            (repo, "id node_id name full_name url html_url"),
            (repo.get_pulls()[0], "id node_id number url html_url state title locked created_at updated_at"),
            (pull.head, "ref sha label user repo"),
            (pull.base, "ref sha label user repo"),
            (pull.get_files()[0], "filename status additions deletions changes contents_url"),
            (repo.get_issues(state="closed")[0], "id node_id url html_url repository_url labels_url comments_url "
             "events_url number state title locked labels assignees comments created_at updated_at"),
            (issue.labels[0], "id node_id url name color default"),
            (repo.get_issues()[0].pull_request, "diff_url html_url patch_url"),
            (issue.get_comments()[0], "id node_id url html_url created_at updated_at"),
            (issue.get_comments()[0].user, "login id node_id avatar_url gravatar_id url html_url followers_url "
             "following_url gists_url starred_url subscriptions_url organizations_url repos_url events_url "
             "received_events_url type site_admin"),
        ]),
        "compared": [repo.compare("main", "topic").ahead_by, repo.compare("main", "topic").behind_by],
    }


def missing(items):
    """The fields that every version of the host sends and an item lacks, or has with another type."""
    lacking = []
    for item, names in items:
        for name in names.split():
            try:
                found = getattr(item, name)
            except Exception as error:
                found = None
                name += f" ({type(error).__name__})"
            if found is None:
                lacking.append(f"{type(item).__name__}.{name}")
    return lacking


def failing(url, given):
    """The client's own type of each failure, and its status."""
    api, failed = Github(auth=Auth.Token(given["token"]), base_url=url, retry=None), []
    for name in given["repositories"]:
        try:
            api.get_repo(name)
            failed.append(None)
        except GithubException as error:
            failed.append([type(error).__name__, error.status])
    return failed


if __name__ == "__main__":
    scenario, url = sys.argv[1:]
    run = {"converse": converse, "failing": failing}[scenario]
    print(json.dumps(run(url, json.load(sys.stdin))))
