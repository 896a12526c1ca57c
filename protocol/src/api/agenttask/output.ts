import type { Static } from 'typebox';
import { choice, labelName, optional, rule, struct, text, withRules } from '../schema/index.ts';

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
