import type { Forge } from '@agentfleet/protocol/api';
import type { GitCredential } from '../../workspace/index.ts';
import type { Answer, Call } from './call.ts';

/** A pull request as a forge lists it. */
export interface Listed {
  readonly url: string;
  readonly open: boolean;
  readonly body: string;
}

/** A pull request to open. */
interface PullRequestOrder {
  readonly title: string;
  readonly body: string;
  /** Branch of the task. */
  readonly head: string;
  /** Branch that it is to go into. */
  readonly into: string;
}

/** The pull requests of one repository. */
export interface PullRequests {
  /** Lists those whose source is a branch of the repository, closed ones too. @throws AttemptFailure */
  list(branch: string): Promise<readonly Listed[]>;
  /** Returns the address. @throws AttemptFailure */
  open(order: PullRequestOrder): Promise<string>;
}

/** One kind of forge: its API's address, detection and requests. */
export interface ForgeKind {
  readonly name: Forge;
  /** Hosts that are known without asking. */
  readonly hosts: readonly string[];
  /** Root of the API for a repository. */
  root(repository: URL): string;
  /** Path below the root, and whether the answer is this forge's. */
  readonly probe: string;
  isOne(answer: Answer): boolean;
  headers(credential: GitCredential | undefined): Readonly<Record<string, string>>;
  pullRequests(repository: URL, call: Call, secrets: readonly string[]): PullRequests;
}

/** Path of a repository without slash and `.git` at its ends. */
export function pathOf({ pathname }: URL): string {
  return decodeURIComponent(pathname)
    .replace(/^\/+/, '')
    .replace(/\/+$/, '')
    .replace(/\.git$/, '');
}

/** Returns owner and name, the last two parts, and the prefix where the forge is below a path. */
export function partsOf(repository: URL): { readonly prefix: string; readonly owner: string; readonly name: string } {
  const parts = pathOf(repository).split('/');
  const [owner = '', name = ''] = parts.slice(-2);
  const before = parts.slice(0, -2).map(encodeURIComponent);
  return { prefix: before.length === 0 ? '' : `/${before.join('/')}`, owner: encodeURIComponent(owner), name: encodeURIComponent(name) };
}
