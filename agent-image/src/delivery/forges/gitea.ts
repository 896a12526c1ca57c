import { fieldsOf } from '@agentfleet/protocol/text';
import { fieldOf } from './call.ts';
import { partsOf, pullsOf, type ForgeKind } from './forge.ts';

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
  right: 'the scopes "write:repository" and "write:issue", and its user the right to write the repository',
  path: (repository) => pullsOf(repository),
  pages: { size: 50, most: 10 },
  // No filter by the source branch is the same in all versions.
  query: (_repository, _branch, page) => `sort=recentupdate&limit=50&page=${page}`,
  isOwn: (one, branch) => {
    const [head, base] = [fieldsOf(one['head']), fieldsOf(one['base'])];
    // Of a branch that is gone `ref` is `refs/pull/N/head`, and `label` its name.
    return (head['ref'] === branch || head['label'] === branch) && head['repo_id'] === base['repo_id'];
  },
  members: { url: 'html_url', body: 'body', open: 'open' },
  opening: ({ into, ...order }) => ({ ...order, base: into }),
};
