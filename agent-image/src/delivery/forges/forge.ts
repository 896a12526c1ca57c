import type { Forge } from '@agentfleet/protocol/api';
import { fieldsOf, listOf, type Fields } from '@agentfleet/protocol/text';
import type { AttemptFailure } from '../../base/failure.ts';
import type { GitCredential } from '../../workspace/index.ts';
import { fieldOf, refusal, type Answer, type Call } from './call.ts';

/** A pull request as a forge lists it. */
export interface Listed {
  readonly url: string;
  readonly open: boolean;
  readonly body: string;
}

interface PullRequestOrder {
  readonly title: string;
  readonly body: string;
  /** Branch of the task. */
  readonly head: string;
  /** Branch that it is to go into. */
  readonly into: string;
}

/** The pull requests of one repository. */
export type PullRequests = ReturnType<typeof pullRequestsOf>;

/** One kind of forge: where its API is, how it is known, and how it writes pull requests. */
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
  /** Right that the token of a credential needs, for refusals. */
  readonly right: string;
  /** Path of the repository's pull requests. @param get asks for an object below the root */
  path(repository: URL, get: (path: string) => Promise<Fields>): string | Promise<string>;
  /** Pull requests on a page of a list, and how many pages are read, the newest first. */
  readonly pages: { readonly size: number; readonly most: number };
  /** Query of one page: of those whose source is the branch, where the forge can filter them. */
  query(repository: URL, branch: string, page: number): string;
  /** Whether the source of a listed one is the branch of the repository: a fork may have one of the same name. */
  isOwn(one: Fields, branch: string): boolean;
  /** Members of a pull request, and the state of an open one. */
  readonly members: { readonly url: string; readonly body: string; readonly open: string };
  /** The body of a request that opens one. */
  opening(order: PullRequestOrder): Readonly<Record<string, unknown>>;
}

/** The pull requests of a repository by the API of its forge. */
export function pullRequestsOf(kind: ForgeKind, repository: URL, call: Call, secrets: readonly string[]) {
  const { members, pages } = kind;
  const refused = (answer: Answer): AttemptFailure => refusal(kind.name, answer, kind.right, secrets);
  const get = async (path: string): Promise<unknown> => {
    const answer = await call('GET', path);
    if (answer.status !== 200) throw refused(answer);
    return answer.body;
  };
  let known: Promise<string> | undefined;
  const path = (): Promise<string> => (known ??= Promise.resolve(kind.path(repository, async (of) => fieldsOf(await get(of)))));
  return {
    /** Lists those whose source is a branch of the repository, closed ones too. @throws AttemptFailure */
    async list(branch: string): Promise<readonly Listed[]> {
      const found: Fields[] = [];
      for (let page = 1; page <= pages.most; page += 1) {
        const listed = listOf(await get(`${await path()}?state=all&${kind.query(repository, branch, page)}`));
        found.push(...listed.map(fieldsOf).filter((one) => kind.isOwn(one, branch)));
        if (listed.length < pages.size) break;
      }
      return found.flatMap((one): Listed[] => {
        const url = addressOf(one, members.url);
        return url === '' ? [] : [{ url, open: one['state'] === members.open, body: fieldOf(one, members.body) }];
      });
    },
    /** Returns the address. @throws AttemptFailure */
    async open(order: PullRequestOrder): Promise<string> {
      const answer = await call('POST', await path(), kind.opening(order));
      const url = addressOf(answer.body, members.url);
      if (answer.status !== 201 || url === '') throw refused(answer);
      return url;
    },
  };
}

/** Characters of an address that the status of a task takes: a longer one would keep the whole report out. */
const maxAddress = 1024;

/**
 * Returns the address of a page in an answer, without anything that a terminal obeys; empty where it has none. A task names its
 * server, so that the answer is what its author likes.
 */
function addressOf(value: unknown, name: string): string {
  const text = fieldOf(value, name);
  if (!/^https?:\/\//.test(text) || !URL.canParse(text)) return '';
  const { href } = new URL(text);
  return href.length > maxAddress ? '' : href;
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

/** Path of the pull requests of a repository of GitHub and of the forges that follow it. */
export function pullsOf(repository: URL): string {
  const { owner, name } = partsOf(repository);
  return `/repos/${owner}/${name}/pulls`;
}
