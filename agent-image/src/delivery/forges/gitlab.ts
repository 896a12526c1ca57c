import { fieldOf, listOf, refusal } from './call.ts';
import { pathOf, type ForgeKind } from './forge.ts';

/** Reports whether its source is a branch of the repository: a fork may have one of the same name. */
function isOwn(one: unknown): boolean {
  const { source_project_id: source, target_project_id: target } = one as {
    readonly source_project_id?: unknown;
    readonly target_project_id?: unknown;
  };
  return source === target;
}

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
  pullRequests: (repository, call, secrets) => {
    const right = 'the scope "api" and at least the role Developer in the project';
    let found: Promise<string> | undefined;
    // By its id: GitLab leads a GET of the path that a project had before to it, and refuses a POST there.
    const requestsPath = async (): Promise<string> => {
      const answer = await call('GET', `/projects/${encodeURIComponent(pathOf(repository))}`);
      const { id } = (answer.body ?? {}) as { readonly id?: unknown };
      if (answer.status !== 200 || typeof id !== 'number') throw refusal('GitLab', answer, right, secrets);
      return `/projects/${id}/merge_requests`;
    };
    const path = (): Promise<string> => (found ??= requestsPath());
    return {
      async list(branch) {
        const answer = await call('GET', `${await path()}?state=all&per_page=100&source_branch=${encodeURIComponent(branch)}`);
        if (answer.status !== 200) throw refusal('GitLab', answer, right, secrets);
        return listOf(answer)
          .filter(isOwn)
          .map((one) => ({
            url: fieldOf(one, 'web_url'),
            open: fieldOf(one, 'state') === 'opened',
            body: fieldOf(one, 'description'),
          }));
      },
      async open({ title, body, head, into }) {
        const answer = await call('POST', await path(), { title, description: body, source_branch: head, target_branch: into });
        const url = fieldOf(answer.body, 'web_url');
        if (answer.status !== 201 || url === '') throw refusal('GitLab', answer, right, secrets);
        return url;
      },
    };
  },
};
