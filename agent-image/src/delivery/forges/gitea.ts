import { fieldOf, listOf, refusal } from './call.ts';
import { partsOf, type ForgeKind } from './forge.ts';

/** Most pages of pull requests that are searched for the one of a branch; fifty each, the newest first. */
const maxPages = 10;

interface End {
  /** Name of the branch, also when it is gone. */
  readonly label?: unknown;
  /** Name of the branch; `refs/pull/N/head` when it is gone. */
  readonly ref?: unknown;
  readonly repo_id?: unknown;
}

/** Reports whether its source is the branch of the repository: a fork may have one of the same name. */
function isFrom(branch: string, one: unknown): boolean {
  const { head, base } = one as { readonly head?: End; readonly base?: End };
  return (head?.ref === branch || head?.label === branch) && head.repo_id === base?.repo_id;
}

/** Gitea and Forgejo: the API of version 1. */
export const gitea: ForgeKind = {
  name: 'Gitea',
  hosts: ['codeberg.org', 'gitea.com'],
  root: (repository) => `${repository.origin}${partsOf(repository).prefix}/api/v1`,
  probe: '/version',
  isOne: ({ status, body }) => status === 200 && fieldOf(body, 'version') !== '' && fieldOf(body, 'revision') === '',
  headers: (credential) => {
    if (credential === undefined) return {};
    const { username, password } = credential;
    // A value without a user name is a token.
    if (username === 'git') return { authorization: `token ${password}` };
    return { authorization: `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}` };
  },
  pullRequests: (repository, call, secrets) => {
    const { owner, name } = partsOf(repository);
    const path = `/repos/${owner}/${name}/pulls`;
    const right = 'the scopes "write:repository" and "write:issue", and its user the right to write the repository';
    return {
      // No filter by the source branch is the same in all versions.
      async list(branch) {
        const found = [];
        for (let page = 1; page <= maxPages; page += 1) {
          const answer = await call('GET', `${path}?state=all&sort=recentupdate&limit=50&page=${page}`);
          if (answer.status !== 200) throw refusal('Gitea', answer, right, secrets);
          const listed = listOf(answer);
          found.push(...listed.filter((one) => isFrom(branch, one)));
          if (listed.length < 50) break;
        }
        return found.map((one) => ({ url: fieldOf(one, 'html_url'), open: fieldOf(one, 'state') === 'open', body: fieldOf(one, 'body') }));
      },
      async open({ title, body, head, into }) {
        const answer = await call('POST', path, { title, body, head, base: into });
        const url = fieldOf(answer.body, 'html_url');
        if (answer.status !== 201 || url === '') throw refusal('Gitea', answer, right, secrets);
        return url;
      },
    };
  },
};
