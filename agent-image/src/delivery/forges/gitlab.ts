// agent-image, delivery/forges: GitLab's API of merge requests. May import layers below delivery; protocol, kube, keeper's client.
import { fieldOf } from './call.ts';
import { pathOf, type ForgeKind } from './forge.ts';

/** GitLab at the root of its host: docs.gitlab.com/api/merge_requests. */
export const gitlab: ForgeKind = {
  name: 'GitLab',
  hosts: ['gitlab.com'],
  root: ({ origin }) => `${origin}/api/v4`,
  probe: '/version',
  isOne: ({ status, body }) =>
    (status === 200 && fieldOf(body, 'revision') !== '') ||
    (status === 401 && /^401\b/.test(fieldOf(body, 'message'))) ||
    (status === 403 && fieldOf(body, 'error') === 'insufficient_scope'),
  // Personal, project and group tokens are taken in the form of OAuth too.
  headers: (credential) => (credential === undefined ? {} : { authorization: `Bearer ${credential.password}` }),
  right: 'the scope "api" and at least the role Developer in the project',
  // By its id: GitLab leads a GET of the path that a project had before to it, and refuses a POST there.
  path: async (repository, get) => {
    const own = encodeURIComponent(pathOf(repository));
    const { id } = await get(`/projects/${own}`);
    return `/projects/${typeof id === 'number' ? id : own}/merge_requests`;
  },
  pages: { size: 100, most: 1 },
  query: (_repository, branch) => `per_page=100&source_branch=${encodeURIComponent(branch)}`,
  isOwn: (one) => one['source_project_id'] === one['target_project_id'],
  members: { url: 'web_url', body: 'description', open: 'opened' },
  opening: ({ title, body, head, into }) => ({ title, description: body, source_branch: head, target_branch: into }),
};
