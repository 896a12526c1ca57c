import { fieldOf, listOf, refusal } from './call.ts';
import { partsOf, type ForgeKind } from './forge.ts';

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
  pullRequests: (repository, call, secrets) => {
    const { owner, name } = partsOf(repository);
    const path = `/repos/${owner}/${name}/pulls`;
    const right = 'the right "Pull requests: read and write" for the repository';
    return {
      async list(branch) {
        const answer = await call('GET', `${path}?state=all&per_page=100&head=${owner}:${encodeURIComponent(branch)}`);
        if (answer.status !== 200) throw refusal('GitHub', answer, right, secrets);
        return listOf(answer).map((one) => ({
          url: fieldOf(one, 'html_url'),
          open: fieldOf(one, 'state') === 'open',
          body: fieldOf(one, 'body'),
        }));
      },
      async open({ title, body, head, into }) {
        const answer = await call('POST', path, { title, body, head, base: into });
        const url = fieldOf(answer.body, 'html_url');
        if (answer.status !== 201 || url === '') throw refusal('GitHub', answer, right, secrets);
        return url;
      },
    };
  },
};
