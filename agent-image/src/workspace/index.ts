/**
 * The initial workspace of an attempt: files of the task, of a ConfigMap or of a Git repository, put into the sandbox
 * as one tar stream. Git runs in the worker, never in the sandbox, and never checks anything out: a repository is read
 * as objects only, so that no filter, hook, link or submodule of it can act.
 *
 * May import `protocol`, `kube` (clock) and the attempt's failures.
 */
export { importWorkspace, type WorkspacePorts } from './import.ts';
export { credentialFor, fetchCommit, openGit, scrub, type Git, type GitCredential } from './git/index.ts';
