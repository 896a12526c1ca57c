// agent-image, delivery/forges: GitHub's API of pull requests. May import layers below delivery; protocol, kube, keeper's client.
import { fieldOf } from './call.ts';
import { partsOf, pullsOf, type ForgeKind } from './forge.ts';

/** GitHub and GitHub Enterprise Server: docs.github.com/rest/pulls. */
export const github: ForgeKind = {
  name: 'GitHub',
  hosts: ['github.com'],
  root: (repository) =>
    repository.hostname === 'github.com' ? 'https://api.github.com' : `${repository.origin}${partsOf(repository).prefix}/api/v3`,
  probe: '/meta',
  isOne: ({ status, body }) => status === 200 && fieldOf(body, 'installed_version') !== '',
  headers: (credential) => ({
    'x-github-api-version': '2022-11-28',
    accept: 'application/vnd.github+json',
    ...(credential && { authorization: `Bearer ${credential.password}` }),
  }),
  right: 'the right "Pull requests: read and write" for the repository',
  path: (repository) => pullsOf(repository),
  pages: { size: 100, most: 1 },
  query: (repository, branch) => `per_page=100&head=${partsOf(repository).owner}:${encodeURIComponent(branch)}`,
  isOwn: () => true,
  members: { url: 'html_url', body: 'body', open: 'open' },
  opening: ({ into, ...order }) => ({ ...order, base: into }),
};
