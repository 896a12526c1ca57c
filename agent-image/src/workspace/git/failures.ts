import type { Reason } from '@agentfleet/protocol/api';
import { AttemptFailure } from '../../base/failure.ts';
import { shortened } from '../../base/text.ts';
import type { EgressRequest } from '../../egress/index.ts';

interface GitFault {
  /** Subcommand. */
  readonly step: string;
  readonly url: string;
  /** Standard error. */
  readonly words: string;
  readonly timedOut: boolean;
  readonly missing: boolean;
  /** The request that the proxy before git refused or could not serve. */
  readonly fault?: EgressRequest | undefined;
  readonly secrets: readonly string[];
}

interface Cause {
  readonly words: RegExp;
  readonly failureClass: 'InvalidInput' | 'Infrastructure';
  readonly reason: Reason;
  readonly what: string;
  readonly cure: string;
}

const causeOf =
  (failureClass: Cause['failureClass']) =>
  (words: RegExp, reason: Reason, what: string, cure: string): Cause => ({ failureClass, words, reason, what, cure });
const invalid = causeOf('InvalidInput');
const later = causeOf('Infrastructure');

const address = 'correct spec.workspace.git.url in a new task';
const again = 'the attempt is repeated; look at the server when it stays';

const other = 'name another one in spec.output.git.branch of a new task';

/** For a push only, before those of every step. */
const pushCauses: readonly Cause[] = [
  invalid(
    /\((?:stale info|fetch first|non-fast-forward|already exists)\)|reference already exists|cannot lock ref/i,
    'BranchMoved',
    'the branch holds commits that are not of the task',
    `delete the branch, or ${other}`,
  ),
  invalid(
    /protected branch|GH006|GH013|rule violations|force push(?:ing)? .* not allowed|branch .* is protected/i,
    'BranchProtected',
    'the server protects the branch',
    other,
  ),
  invalid(
    /returned error: 403|not authorized|permission .*denied|denied .*permission|not allowed to push/i,
    'AccessDenied',
    'the credential may not push',
    "give the token of the credential the right to write the repository's contents",
  ),
  invalid(/\[remote rejected\]|pre-receive hook declined/i, 'PushRefused', 'the server refuses the push', 'see its words'),
];

/** In order: the first match counts. Messages of git and of curl with OpenSSL or GnuTLS, both with LC_ALL=C. */
const causes: readonly Cause[] = [
  later(/(?:GnuTLS|SSL)[ _]?(?:recv|read|send) error|SSL_(?:read|write)/i, 'ConnectionLost', 'the connection broke', again),
  later(
    /SSL certificate problem|certificate verification failed|certificate verify|SSL_connect|gnutls|SSL peer certificate|unable to get local issuer|problem with the SSL CA|setting certificate (?:file|verify)|error setting certificate|server verification failed|certificate signer not|certificate OpenSSL verify|TLS (?:connect|alert|handshake)|SSL routines/i,
    'TLSFailed',
    'the certificate of the server is not trusted, or TLS failed',
    "put the authority of the server into the ConfigMap agentfleet-ca of the pool's namespace",
  ),
  invalid(
    /could not read (?:Username|Password)|Authentication failed|returned error: 401/,
    'AuthenticationRequired',
    'the repository asks for a user, or does not exist for the public',
    `the pool has no credential for this host; make the repository readable or ${address}`,
  ),
  invalid(/returned error: 403/, 'AccessDenied', 'the server denies access', `make the repository readable or ${address}`),
  later(/returned error: (?:408|429|5\d\d)/, 'RemoteUnavailable', 'the server cannot answer now', again),
  invalid(/repository '.*' not found|returned error: (?:404|410)/, 'RepositoryNotFound', 'there is no such repository', address),
  invalid(
    /transport '.*' not allowed|Protocol "?.*"? (?:not supported|disabled)|unable to update url base from redirection|returned error: 3\d\d|redirect/i,
    'RedirectRefused',
    'the server leads to another protocol or address, which is not followed',
    `${address}: name the final https address`,
  ),
  invalid(
    /couldn't find remote ref|not our ref|unadvertised object|no such remote ref|Server does not allow request/i,
    'RefNotFound',
    'the server has no such branch or tag, or does not give out this commit',
    'correct spec.workspace.git.ref in a new task',
  ),
  later(
    /Could not resolve|Couldn't resolve|Name or service not known|Temporary failure in name resolution|getaddrinfo/i,
    'HostNotResolved',
    'the name of the host cannot be resolved',
    `look at the DNS of the cluster, or ${address}`,
  ),
  later(
    /No space left|Disk quota exceeded/i,
    'ScratchFull',
    "the worker's disk is full",
    'raise the ephemeral storage of the agent workers',
  ),
  later(
    /Failed to connect|Could(?:n't| not) connect|Connection refused|Connection timed out|No route to host|Network is unreachable|Connection reset|Recv failure|Send failure|connect E[A-Z]+|proxy of the worker|nobody answered|has no address/i,
    'RemoteUnreachable',
    'the server cannot be reached',
    'look at the network, its policies and the server',
  ),
  later(
    /Operation (?:too slow|timed out)|transfer closed|early EOF|unexpected disconnect|hung up|RPC failed|Empty reply|curl \d+/i,
    'ConnectionLost',
    'the server stopped answering',
    again,
  ),
  // An answer that was cut off is none of Git and no pack either, and git reports that too: these come last.
  invalid(
    /valid: is this a git repository|not a git repository|does not appear to be a git repository|bad line length character|protocol error: bad/i,
    'NotARepository',
    'the address is not a Git repository',
    address,
  ),
  invalid(
    /fsck error|^error: object [0-9a-f]+: |bad object|hasDot|fsck\b.*failed/im,
    'UnsafeRepository',
    'the repository holds objects that git refuses',
    'repair the repository (`git fsck --strict` names them)',
  ),
];

/** Returns a failed run as a failure of the attempt: fault, the remote's message, cure. */
export function explain(fault: GitFault): AttemptFailure {
  const { step, missing, timedOut } = fault;
  const url = scrub(fault.url, fault.secrets);
  if (missing) return failure('Infrastructure', 'GitMissing', 'the worker has no git program; use an agent image that has it');
  if (timedOut) return failure('Infrastructure', 'GitTimeout', `git ${step} of ${url} took too long and was ended; ${again}`);
  const { decision, why } = fault.fault ?? {};
  // No detail of git's result is reported: the message is the same whatever is at the address.
  if (decision === 'Forbidden') return failure('InvalidInput', 'HostNotAllowed', `${url}: ${why ?? ''}`);
  const heard = decision === 'Unreachable' ? `fatal: ${why ?? ''}` : fault.words;
  const words = scrub(telling(heard), fault.secrets);
  const cause = [...(step === 'push' ? pushCauses : []), ...causes].find((candidate) => candidate.words.test(heard));
  if (cause === undefined) return failure('Infrastructure', 'GitFailed', `git ${step} of ${url} failed: ${words}; ${again}`);
  return failure(cause.failureClass, cause.reason, `${url}: ${cause.what} (${words}); ${cause.cure}`);
}

function failure(failureClass: Cause['failureClass'], reason: Reason, message: string): AttemptFailure {
  return new AttemptFailure(failureClass, reason, message);
}

/** Returns the lines with the reason: errors, and the server's message; at most 500 characters. */
function telling(words: string): string {
  const lines = words
    .split('\n')
    .map((line) => withoutControls(line).trim())
    .filter((line) => line !== '');
  const marked = lines.filter((line) => /^(?:(?:fatal|error|remote|curl)\b|! \[)/i.test(line) && !line.includes('/bin/false'));
  const chosen = [...new Set(marked.length > 0 ? marked : lines.slice(-2))].join(' | ');
  return shortened(chosen, 500) || 'no words';
}

const withoutControls = (line: string): string => line.replaceAll(/\p{Cc}/gu, '');

/** Takes credentials out of a text: users in addresses, and known secrets. */
export function scrub(text: string, secrets: readonly string[]): string {
  let clean = text.replaceAll(/([a-z][a-z0-9+.-]*:\/\/)[^/@\s']+@/gi, '$1');
  for (const secret of secrets) if (secret !== '') clean = clean.replaceAll(secret, '***');
  return clean;
}
