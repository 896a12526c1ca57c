import { describe, expect, it } from 'vitest';
import { asksOf, type Asks } from './asks.ts';
import { grantsTo, type Manifest, judge } from './judge.ts';

const account = 'agentfleet-operator';
const subjects = [{ kind: 'ServiceAccount', name: account }];
const manifests: readonly Manifest[] = [
  {
    kind: 'ClusterRole',
    metadata: { name: 'r' },
    rules: [
      { apiGroups: [''], resources: ['pods'], verbs: ['list', 'watch', 'create'] },
      { apiGroups: [''], resources: ['secrets'], resourceNames: ['link'], verbs: ['delete'] },
      { nonResourceURLs: ['/openid/v1/jwks'], verbs: ['get'] },
    ],
  },
  { kind: 'ClusterRoleBinding', metadata: { name: 'r' }, roleRef: { kind: 'ClusterRole', name: 'r' }, subjects },
  { kind: 'Role', metadata: { name: 'own', namespace: 's' }, rules: [{ apiGroups: [''], resources: ['pods'], verbs: ['list'] }] },
  { kind: 'RoleBinding', metadata: { name: 'own', namespace: 's' }, roleRef: { kind: 'Role', name: 'own' }, subjects },
  { kind: 'RoleBinding', metadata: { name: 'foreign', namespace: 's' }, roleRef: { kind: 'Role', name: 'of-the-cluster' }, subjects },
];

/** A line of the audit log, as the API server writes it. */
const line = (
  verb: string,
  plural: string,
  more: { readonly name?: string; readonly code?: number; readonly decision?: string } = {},
): string =>
  JSON.stringify({
    verb,
    user: { username: `system:serviceaccount:s:${account}` },
    requestURI: `/api/v1/${plural}`,
    objectRef: { resource: plural, apiVersion: 'v1', namespace: 's', name: more.name },
    responseStatus: { code: more.code ?? 200 },
    annotations: { 'authorization.k8s.io/decision': more.decision ?? 'allow' },
  });
const path = JSON.stringify({ verb: 'get', user: { username: `system:serviceaccount:s:${account}` }, requestURI: '/openid/v1/jwks' });
const all = [line('watch', 'pods'), line('patch', 'pods', { code: 201 }), line('delete', 'secrets', { name: 'link' }), path];
const asks = (lines: readonly string[]): Asks => lines.flatMap((one) => asksOf(one, [account]));
const grants = grantsTo(manifests, account).filter(({ namespace }) => namespace === undefined);

describe('the roles of an account', () => {
  it('are needed when each verb was requested; a watch needs a list, an apply that makes an object needs create', () => {
    const withPatch = [...grants, { what: '/pods', verb: 'patch' }];
    expect(judge(withPatch, asks(all))).toEqual({ refused: [], unused: [], twice: [] });
  });

  it.each([
    [0, 'list /pods', 'watch /pods'],
    [1, 'create /pods'],
    [2, 'delete /secrets [link]'],
    [3, 'get //openid/v1/jwks'],
  ] as const)('are too wide when nobody asks for what line %i asks for', (left, ...unused) => {
    expect(judge(grants, asks(all.filter((_, at) => at !== left))).unused).toEqual(unused);
  });

  it('are too wide when the object that a rule names is another one', () => {
    expect(judge(grants, asks([...all.slice(0, 2), line('delete', 'secrets', { name: 'other' }), path])).unused).toEqual([
      'delete /secrets [link]',
    ]);
  });

  it('are too narrow when the API server refuses a request', () => {
    expect(judge(grants, asks([...all, line('get', 'nodes', { decision: 'forbid', code: 403 })])).refused).toEqual(['get /nodes']);
  });

  it('are not to blame when a server that has just started refuses what they grant everywhere, but for an object that no rule names', () => {
    const refused = (verb: string, resource: string): string => line(verb, resource, { decision: 'forbid', code: 403 });
    expect(judge(grants, asks([...all, refused('create', 'pods')])).refused).toEqual([]);
    expect(judge(grants, asks([...all, refused('delete', 'secrets')])).refused).toEqual(['delete /secrets']);
  });

  it('are written twice when a namespace repeats a general grant', () => {
    expect(judge(grantsTo(manifests, account), asks(all)).twice).toEqual(['list /pods in s']);
  });

  it('include implied authorizations of a request, and none without such a request', () => {
    const bind = { what: 'rbac.authorization.k8s.io/clusterroles', verb: 'bind' };
    const implied = [{ verb: 'watch', what: '/pods', grants: [bind] }];
    expect(judge([bind], asks(all), implied).unused).toEqual([]);
    expect(judge([bind], [], implied).unused).toEqual(['bind rbac.authorization.k8s.io/clusterroles']);
  });

  it('are not judged by requests of others', () => {
    expect(asksOf(line('get', 'nodes').replace(account, 'somebody'), [account])).toEqual([]);
  });
});
