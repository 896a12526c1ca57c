/**
 * The APIs that open pull requests, one file each. Another one is a file and a line in the list.
 * Part of `delivery`: may import the layers right of `delivery` in docs/architecture.md; of packages protocol, kube and the keeper's client.
 */
import type { Forge } from '@agentfleet/protocol/api';
import type { PoolBrief } from '@agentfleet/protocol/pool';
import { AttemptFailure } from '../../base/failure.ts';
import { credentialFor } from '../../workspace/index.ts';
import { refusal, withCall, type CallOptions } from './call.ts';
import { pullRequestsOf, type ForgeKind, type PullRequests } from './forge.ts';
import { gitea } from './gitea.ts';
import { github } from './github.ts';
import { gitlab } from './gitlab.ts';

export { RateLimited } from './call.ts';
export type { Listed, PullRequests } from './forge.ts';

const kinds: readonly ForgeKind[] = [github, gitlab, gitea];
/** Forges whose probe is at the root of the host come first. */
const probed: readonly ForgeKind[] = [gitlab, gitea, github];

export interface ForgeOptions extends Pick<CallOptions, 'dialer' | 'authorities' | 'signal' | 'fetch'> {
  readonly url: string;
  /** Name of a credential of the pool; it has to be for the host of the API too. */
  readonly credential: string | undefined;
  readonly credentials: PoolBrief['credentials'];
  readonly forge: Forge | undefined;
}

/** Uses the pull requests of a repository. @throws AttemptFailure */
export async function withPullRequests<T>(options: ForgeOptions, use: (pullRequests: PullRequests) => Promise<T>): Promise<T> {
  const repository = new URL(options.url);
  const kind = await recognise(repository, options);
  const { call, secrets } = await wayTo(kind, repository, options);
  return withCall(call, (asked) => use(pullRequestsOf(kind, repository, asked, secrets)));
}

async function wayTo(
  kind: ForgeKind,
  repository: URL,
  options: ForgeOptions,
): Promise<{ readonly call: CallOptions; readonly secrets: readonly string[] }> {
  const { dialer, authorities, signal, fetch, credentials } = options;
  const root = kind.root(repository);
  const asked = { url: root, credential: options.credential, field: 'spec.output.git.credential', repository: options.url };
  const credential = await credentialFor(asked, credentials);
  const secrets = credential === undefined ? [] : [credential.password];
  return { secrets, call: { root, headers: kind.headers(credential), secrets, dialer, authorities, signal, fetch } };
}

async function recognise(repository: URL, options: ForgeOptions): Promise<ForgeKind> {
  const { forge } = options;
  const known = kinds.find(({ name, hosts }) => (forge === undefined ? hosts.includes(repository.hostname) : name === forge));
  if (known !== undefined) return known;
  let unheard: AttemptFailure | undefined;
  for (const kind of probed) {
    const { call, secrets } = await wayTo(kind, repository, options);
    let failure: AttemptFailure;
    try {
      const answer = await withCall(call, (asked) => asked('GET', kind.probe));
      if (kind.isOne(answer)) return kind;
      failure = refusal(repository.host, answer, '', secrets);
      if (failure.failureClass !== 'Infrastructure') continue;
    } catch (error) {
      options.signal.throwIfAborted();
      if (!(error instanceof AttemptFailure)) throw error;
      failure = error; // also a redirect to a page that asks for a user
    }
    // A failure that passes by itself is tried again, whatever the other probes led to.
    if (unheard?.failureClass !== 'Infrastructure') unheard = failure;
  }
  if (unheard !== undefined) throw unheard;
  const cure = 'in a new task, set spec.output.git.pullRequest.forge, or leave spec.output.git.pullRequest out';
  const names = kinds.map(({ name }) => name).join(', ');
  throw new AttemptFailure(
    'InvalidInput',
    'ForgeUnknown',
    `${repository.host} answers like none of ${names}; the branch is pushed; ${cure}`,
  );
}
