import type { V1PolicyRule } from '@kubernetes/client-node';
import { workerRules } from '../../operator/src/controllers/expertpool/manifests/access.ts';
import type { Implied } from './judge.ts';

/** Name of the operator's account in every namespace that it runs in. */
export const operatorAccount = 'agentfleet-operator';

/** Accounts whose rules are judged. */
export const accounts: readonly string[] = [operatorAccount, 'agentfleet-results'];

const group = 'agentfleet.dev';
const access = 'rbac.authorization.k8s.io';

const verbsOf = (rules: readonly V1PolicyRule[]): Implied['grants'] =>
  rules.flatMap(({ apiGroups = [], resources = [], verbs }) =>
    apiGroups.flatMap((one) => resources.flatMap((resource) => verbs.map((verb) => ({ what: `${one}/${resource}`, verb })))),
  );

/**
 * Further authorizations of the operator besides its requests: no account may grant more than it has, bind a role that it may not, make
 * objects that keep their owners, or assign a task without the right to. `test/contract/rbac.test.ts` takes each of them away.
 */
export const implied: readonly Implied[] = [
  { verb: 'create', what: `${access}/roles`, grants: verbsOf(workerRules('brief', 'account')) },
  { verb: 'create', what: `${access}/rolebindings`, grants: [{ what: `${access}/clusterroles`, verb: 'bind' }] },
  { verb: 'patch', what: `${group}/agenttasks/status`, grants: [{ what: `${group}/agenttasks`, verb: 'assign' }] },
  { verb: 'create', what: '/pods', grants: [{ what: `${group}/agenttasks/finalizers`, verb: 'update' }] },
  {
    verb: 'create',
    what: 'apps/deployments',
    grants: ['expertpools', 'energymodels'].map((plural) => ({ what: `${group}/${plural}/finalizers`, verb: 'update' })),
  },
];

/**
 * Grants for rare requests on a cluster of tests, each with the tests that make them on a fake API server, which
 * refuses requests that the chart does not grant.
 */
export const rare: Readonly<Record<string, string>> = {
  'delete agentfleet.dev/agenttaskorders':
    'one that is for no task, after a day: operator/src/controllers/agenttaskorder/controller.test.ts',
  'delete apps/controllerrevisions': 'of an EnergyModel without a rollout: operator/src/controllers/energymodel/rolloutRun.test.ts',
  'get /pods': 'whose answer to a write was lost: operator/test/crash/courses.test.ts',
  'get /persistentvolumeclaims': 'made by a write whose answer was lost: operator/test/crash',
  'get snapshot.storage.k8s.io/volumesnapshots': 'made by a write whose answer was lost: operator/test/crash',
  'list events.k8s.io/events': 'of a server that does not start: operator/src/controllers/expertpool/notes.test.ts',
};
