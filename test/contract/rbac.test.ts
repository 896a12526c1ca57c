// Further authorizations of the operator that no audit log has: each right in `implied` is removed, and then a request
// is refused that otherwise succeeds.
import { ResourceClient, type KubeObject, type Resource, type Transport } from '@agentfleet/kube';
import type { V1PolicyRule } from '@kubernetes/client-node';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { implied } from '../../hack/rbac/index.ts';
import { workerRules } from '../../operator/src/controllers/expertpool/manifests/access.ts';
import { resources } from '../../operator/src/runtime/resources.ts';
import { minimalTask } from './api/examples.ts';
import { minimalPool } from './api/poolExamples.ts';
import { collection, connect, createNamespace, enabled, install, type Server } from './api/server.ts';
import { operatorTransport } from './operatorAccount.ts';

const group = 'agentfleet.dev';
const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'agentfleet-worker' };

/** The rules without one verb on one resource. */
const without = (rules: readonly V1PolicyRule[], what: string, verb: string): readonly V1PolicyRule[] =>
  rules
    .flatMap(({ apiGroups = [], resources: plurals = [], verbs, ...rest }) =>
      apiGroups.flatMap((one) => plurals.map((plural) => ({ ...rest, apiGroups: [one], resources: [plural], verbs }))),
    )
    .map((rule) =>
      `${rule.apiGroups[0]}/${rule.resources[0]}` === what ? { ...rule, verbs: rule.verbs.filter((other) => other !== verb) } : rule,
    )
    .filter(({ verbs }) => verbs.length > 0);

const model = { apiVersion: 'agentfleet.dev/v1alpha1', kind: 'EnergyModel', spec: { artifact: { uri: 'builtin://features-v1' } } };

describe.runIf(enabled)('rights of the operator that are asked for beside its requests', () => {
  let server: Server;
  let namespace: string;
  const owners: Record<string, KubeObject> = {};

  const owned = (plural: string, name: string): object => {
    const { metadata, apiVersion, kind } = owners[plural]!;
    const ownerReferences = [{ apiVersion, kind, name: metadata.name, uid: metadata.uid, controller: true, blockOwnerDeletion: true }];
    return { metadata: { name, namespace, ownerReferences } };
  };
  const create = (transport: Transport, resource: Resource, object: object): Promise<unknown> =>
    new ResourceClient(transport, resource).create(object as KubeObject);

  /** A request for each right, by the name of the created object. */
  const requests: Readonly<Record<string, (transport: Transport, name: string) => Promise<unknown>>> = {
    'bind rbac.authorization.k8s.io/clusterroles': (transport, name) =>
      create(transport, resources.roleBindings, { metadata: { name, namespace }, roleRef }),
    [`assign ${group}/agenttasks`]: (transport) => {
      const assignment = { attempt: 1, epoch: 1, worker: 'w', workerNamespace: namespace, sandbox: 's', warm: false };
      const status = { assignment: { ...assignment, since: '2030-01-01T00:00:00Z', directive: 'Run' } };
      return new ResourceClient(transport, resources.agentTasks).applyStatus(
        { metadata: { name: 'agenttasks', namespace }, status },
        { fieldManager: 'rbac-test' },
      );
    },
    ...Object.fromEntries(
      ['agenttasks', 'expertpools', 'energymodels'].map((plural) => [
        `update ${group}/${plural}/finalizers`,
        (transport: Transport, name: string) => create(transport, resources.configMaps, owned(plural, name)),
      ]),
    ),
  };
  const rights = implied.flatMap(({ grants }) => grants.map(({ verb, what }) => ({ verb, what })));

  beforeAll(async () => {
    server = await connect();
    await install(server);
    namespace = await createNamespace(server);
    for (const [plural, example] of Object.entries({ agenttasks: minimalTask, expertpools: minimalPool, energymodels: model })) {
      const body = { ...example, metadata: { name: plural, namespace } };
      const answer = await server.ask('POST', collection(namespace, plural), { body });
      expect(answer.body.message).toBeUndefined();
      owners[plural] = answer.body;
    }
  });
  afterAll(() => server.ask('DELETE', `/api/v1/namespaces/${namespace}`));

  it.each(rights)('$verb on $what', async ({ verb, what }) => {
    const request =
      requests[`${verb} ${what}`] ??
      ((transport: Transport, name: string) =>
        create(transport, resources.roles, { metadata: { name, namespace }, rules: workerRules('brief', 'account') }));
    const id = `${verb}-${what}`
      .toLowerCase()
      .replace(/[^a-z]+/g, '-')
      .replace(/-$/, '');
    const less = await operatorTransport(server, namespace, {
      rules: (rules) => ({ ...rules, namespaced: without(rules.namespaced, what, verb) }),
    });
    const refused = await request(less, id).then(
      () => 'it was not refused',
      (error: Error) => error.message,
    );
    await less.close();
    expect(refused).toMatch(/forbidden|cannot set blockOwnerDeletion|attempting to grant|may assign|not found/i);
    const whole = await operatorTransport(server, namespace);
    try {
      await request(whole, id);
    } finally {
      await whole.close();
    }
  });
});
