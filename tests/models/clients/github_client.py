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
    issue = repo.create_issue("Slow", "b", labels=["bug"])
    comment = issue.create_comment("hi")
    comment.edit("ho")
    issue.edit(state="closed")
    check = repo.create_check_run("ars", pull.head.sha, status="completed", conclusion="success")
    return {
        "app": integration.get_app().slug,
        "default": repo.default_branch,
        "pull": [pull.number, pull.title, pull.draft, pull.user.login, pull.changed_files],
        "files": [[file.filename, file.additions, file.patch] for file in pull.get_files()],
        "review": [review.state, review.user.login],
        "reviews": pull.get_reviews().totalCount,
        "comments": [one.body for one in issue.get_comments()],
        "issues": [one.title for one in repo.get_issues(state="closed", labels=["bug"])],
        "found": [one.number for one in api.search_issues("slow repo:acme/app")],
        "content": repo.get_contents("a").decoded_content.decode(),
        "check": check.conclusion,
        "compared": [repo.compare("main", "topic").ahead_by, repo.compare("main", "topic").behind_by],
    }


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
