import { expect, it } from 'vitest';
import { isForRepository } from './index.ts';

const team = ['git.example.com/team/'];
const app = ['git.example.com/team/app'];

it.each<readonly [url: string, repositories: readonly string[] | undefined, is: boolean]>([
  ['https://git.example.com/other/app', undefined, true],
  ['https://git.example.com/team/app', team, true],
  ['https://Git.Example.com/team/sub/app.git', team, true],
  ['https://git.example.com:8443/team/app/', team, true],
  ['https://git.example.com/team/app.git', app, true],
  ['https://git.example.com/team/app', ['git.example.com/team/app.git'], true],
  ['https://git.example.com/team', team, false],
  ['https://git.example.com/teams/app', team, false],
  ['https://git.example.com/Team/app', team, false],
  ['https://git.example.net/team/app', team, false],
  ['https://git.example.com/team/apple', app, false],
  ['https://git.example.com/team/app/other', app, false],
  ['https://git.example.com/team/../other/app', team, false],
  ['https://git.example.com/other/../team/app', team, false],
  ['https://git.example.com/team/%2e%2e/other/app', team, false],
  ['https://git.example.com/team/..%2fother/app', team, false],
  ['https://git.example.com/team/..;/other/app', team, false],
  ['https://git.example.com/team/x\\..\\..\\other', team, false],
  ['https://git.example.com/team//../other', team, false],
  ['https://git.example.com//team/app', team, false],
  ['https://git.example.com/team/.../app', team, false],
  ['https://git.example.com', team, false],
])('%s, of a credential for %j: %s', (url, repositories, is) => {
  expect(isForRepository(repositories === undefined ? {} : { repositories: [...repositories] }, url)).toBe(is);
});
