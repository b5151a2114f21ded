"""The consumer protocol (KIP-848): heartbeats in, records of consumer groups out.

`handlers` takes the requests. A heartbeat is validated (`heartbeat`), may change the member and bump the
group epoch (`member_change`, `bumps`, `regexes`), gets a target (`targets`, or `client_assignment` where a member
assigns) and takes the member one step towards it (`reconciliation`). `drafts` makes each record in the layout of the
release at hand (`release`); `migration` and `classic_members` serve members that still speak the classic protocol.
"""
