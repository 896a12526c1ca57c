import type { Static } from 'typebox';
import {
  integer,
  labelName,
  listByKey,
  optional,
  reference,
  relativePath,
  rule,
  struct,
  text,
  union,
  withRules,
  choice,
} from '../schema/index.ts';

const url = 'spec.workspace.git.url';

/** Address of a repository. It never holds credentials: everybody who may read the task could read them. */
const gitUrl = withRules(
  text('Address of the repository: https://host/path.', { max: 2048, min: 1 }),
  rule("self.startsWith('https://')", `${url} must use https; write it like https://host/path`),
  rule(
    "!self.matches('^https://[^/]*@')",
    `${url} must not hold credentials; name credentials in the pool and remove them from the address`,
  ),
  rule(
    "self.matches('^[a-z]+://[^/?#]+/[^?#[:space:]]+$') && isURL(self) && url(self).getHostname() != ''",
    `${url} must be a host and a path, without query, fragment or blanks; write it like https://host/path`,
  ),
);

const Git = struct('A commit of a Git repository.', {
  url: gitUrl,
  ref: withRules(
    text('Branch, tag or commit to start from.', { max: 255, min: 1, pattern: '^[A-Za-z0-9][A-Za-z0-9._/+-]*$' }),
    rule(
      "!self.contains('..') && !self.contains('//') && !self.endsWith('/') && !self.endsWith('.lock')",
      "spec.workspace.git.ref must be the name of a branch, tag or commit; remove '..', '//', a final '/' or '.lock'",
    ),
  ),
  subPath: optional(relativePath('Folder of the repository that becomes the workspace; default: all of it.', 'spec.workspace.git.subPath')),
  credential: optional(labelName('Credential of the pool that is sent to the host, which it must be bound to; default: none.')),
  depth: optional(integer('Commits of history that are fetched; default: all.', 1, 100_000)),
});

const File = struct('A file and its content.', {
  path: relativePath('Path below the workspace.', 'spec.workspace.inline.files[].path'),
  content: text('Content, UTF-8.', { max: 262_144 }),
  mode: integer('Permission bits, for example 0755.', 0, 0o777, 0o644),
});

/** Characters that all inline files may have together: the whole object must fit into one etcd record. */
export const maxInlineCharacters = 524_288;

const Inline = struct('Files that are part of this object.', {
  files: listByKey('The files; each path once.', 'path', File, {
    max: 64,
    min: 1,
    rules: [
      rule(
        `self.map(file, size(file.content)).sum() <= ${maxInlineCharacters}`,
        `spec.workspace.inline.files may hold ${maxInlineCharacters} characters together; use a Git workspace for more`,
      ),
    ],
  }),
});

/** Files that the agent works on. */
export const Workspace = union(
  'The files that the agent starts from. Snapshot 0 is taken when they are in place and set up.',
  'spec.workspace',
  {
    Git,
    Inline,
    ConfigMap: reference('A ConfigMap of the namespace; each key becomes a file.'),
  },
);
export type Workspace = Static<typeof Workspace>;

/** Forges whose API opens pull requests. */
export const forges = ['GitHub', 'GitLab', 'Gitea'] as const;
export type Forge = (typeof forges)[number];

const branch = withRules(
  text('Branch that the result is pushed to; it belongs to the task. Default: agentfleet/ with name and uid of the task.', {
    max: 200,
    min: 1,
    pattern: '^[A-Za-z0-9][A-Za-z0-9._/-]*$',
  }),
  rule(
    "!self.contains('..') && !self.contains('//') && !self.contains('/.') && !self.endsWith('/') && !self.endsWith('.') && !self.endsWith('.lock')",
    "spec.output.git.branch must be the name of a branch; remove '..', '//', '/.', a final '/' or '.', or '.lock'",
  ),
);

const PullRequest = struct('The pull request, or merge request, that is opened for the branch.', {
  title: optional(
    withRules(
      text('Its title; default: the first line of spec.goal.', { max: 200, min: 1 }),
      rule("self.trim() != ''", 'spec.output.git.pullRequest.title must not be blank; leave it out for the first line of spec.goal'),
    ),
  ),
  forge: optional(
    choice('Software that serves the repository; default: found out by its host and by its API. Gitea: also Forgejo.', forges),
  ),
});

const GitOutput = struct('A branch of the repository of spec.workspace.git, and a pull request into spec.workspace.git.ref.', {
  branch: optional(branch),
  credential: optional(labelName('Credential of the pool that may push, and open pull requests; default: spec.workspace.git.credential.')),
  pullRequest: optional(PullRequest),
});

/** `spec.output`. */
export const Output = struct('Destination of a result that succeeded, beside the artifacts.', { git: GitOutput });
export type Output = Static<typeof Output>;

/** `status.run.output`. */
export const Delivered = struct(
  'Destination of the result; the condition Delivered judges it.',
  {
    branch: text('Branch of the repository.', { max: 256, min: 1 }),
    commit: optional(text('Commit that the branch was pushed with.', { max: 64, pattern: '^[0-9a-f]{40,64}$' })),
    pullRequest: optional(text('Address of the pull request.', { max: 1024 })),
    reason: optional(
      text('Reason for which not all of it was delivered, in CamelCase; absent: all was.', { max: 128, pattern: '^[A-Z][A-Za-z0-9]*$' }),
    ),
    message: optional(text('The same in words, with what helps; without a reason: what was left out.', { max: 512 })),
  },
  { atomic: true },
);
export type Delivered = Static<typeof Delivered>;
