/** Admission policies: who writes, and the rules of AgentTask.spec. May import `api/base`, `api/crd`, `api/schema` and `api/agenttask`. */
import { agentTask } from '../agenttask/index.ts';
import type { AdmissionPolicy } from './policy.ts';
import { specRules } from './specRules.ts';
import { group } from '../base/group.ts';

export { policyManifests, type AdmissionPolicy } from './policy.ts';
export { specRules } from './specRules.ts';

/** Orders carry the name of who gave them, and no user can give one in another's name. */
export const orderIdentity: AdmissionPolicy = {
  name: 'agenttaskorder-identity',
  purpose: 'An order names its author.',
  operations: ['CREATE'],
  resource: 'agenttaskorders',
  validations: [
    {
      expression: 'object.spec.requester == request.userInfo.username',
      message: 'spec.requester must be your own user name',
      messageExpression: "'spec.requester must be your own user name; write ' + request.userInfo.username",
    },
  ],
};

/**
 * Under Privileged no person is asked about what reaches out, so only who could have approved may ask for it. Profiles cannot
 * be changed, so the creation is all there is to guard.
 */
export const privilegedProfile: AdmissionPolicy = {
  name: 'agenttask-privileged-profile',
  purpose: 'Only who may approve acts may create a task that asks nobody.',
  operations: ['CREATE'],
  resource: 'agenttasks',
  conditions: [{ name: 'privileged', expression: "object.spec.policy.profile == 'Privileged'" }],
  validations: [
    {
      expression: `authorizer.group('${group}').resource('agenttaskorders').namespace(request.namespace).check('create').allowed()`,
      message:
        'spec.policy.profile Privileged asks nobody, so it takes the right to create agenttaskorders in this namespace; use Permissive, or ask an approver to create the task',
    },
  ],
};

/** Verb on `agenttasks` that marks the operator. An account without it that may write a status is held to be a worker. */
export const assignVerb = 'assign';

const task = 'object.status.assignment';
const podName = 'authentication.kubernetes.io/pod-name';

/**
 * Our NodeRestriction: a worker reports about the tasks that are assigned to it, and about nothing else.
 * It is bound to no account name, so that a renamed or new account of a worker is inside the fence, not outside.
 */
export const workerFence: AdmissionPolicy = {
  name: 'agenttask-worker-fence',
  purpose: 'A worker writes status.run of the tasks assigned to its own pod under the current epoch, and nothing else.',
  operations: ['UPDATE'],
  resource: 'agenttasks/status',
  conditions: [
    {
      name: 'not-the-operator',
      expression: `!authorizer.group('${group}').resource('agenttasks').namespace(request.namespace).name(request.name).check('${assignVerb}').allowed()`,
    },
  ],
  validations: [
    {
      expression: `has(object.status) && has(${task}) && has(oldObject.status) && has(oldObject.status.assignment) && ${task} == oldObject.status.assignment`,
      message: 'status.assignment belongs to the operator, and a task without one takes no reports; send status.run only',
    },
    {
      expression: `!has(object.status) || object.status.all(field, field == 'run' || (has(oldObject.status) && field in oldObject.status && object.status[field] == oldObject.status[field]))`,
      message: 'a worker may change status.run only; every other field of status belongs to the operator',
    },
    {
      expression: `!has(oldObject.status) || oldObject.status.all(field, field == 'run' || (has(object.status) && field in object.status))`,
      message: 'a worker may change status.run only; it must not remove fields of the operator',
    },
    {
      expression: `has(object.status) && has(object.status.run) && has(${task}) && object.status.run.epoch == ${task}.epoch && object.status.run.attempt == ${task}.attempt`,
      message:
        'status.run.epoch and status.run.attempt must be those of status.assignment; the task has been assigned anew, stop working on it',
    },
    {
      expression: `'${podName}' in request.userInfo.extra && has(object.status) && has(${task}) && request.userInfo.extra['${podName}'].exists(pod, pod == ${task}.worker)`,
      message: 'only the pod that status.assignment.worker names may report; use the token of that pod',
    },
    {
      expression: `has(object.status) && has(${task}) && request.userInfo.username.startsWith('system:serviceaccount:' + ${task}.workerNamespace + ':')`,
      message: 'only an account of the namespace status.assignment.workerNamespace may report; use the token of the worker',
    },
  ],
};

/**
 * A pod counts as a sandbox by its labels and its owner, which any account that may create pods in a namespace can write. So only an
 * account that may assign tasks, the operator, makes pods with that label or changes them. The parts of Kubernetes itself may change them, and make
 * none: its controllers make pods from templates that any editor writes.
 */
export const sandboxOrigin: AdmissionPolicy = {
  name: 'sandbox-pod-origin',
  purpose: 'Only the operator makes and changes sandbox pods: what looks like one is one.',
  operations: ['CREATE', 'UPDATE'],
  resource: 'pods',
  coreLabels: { [`${group}/component`]: 'sandbox' },
  conditions: [
    {
      name: 'not-a-change-by-kubernetes-itself',
      expression:
        "request.operation == 'CREATE' || (!request.userInfo.username.startsWith('system:serviceaccount:kube-system:') && !request.userInfo.username.startsWith('system:kube-') && !('system:nodes' in request.userInfo.groups))",
    },
  ],
  validations: [
    {
      expression: `authorizer.group('${group}').resource('agenttasks').namespace(request.namespace).check('${assignVerb}').allowed()`,
      message: `pods with the label ${group}/component=sandbox are made and changed by the operator alone; leave the label out, or change the AgentTask`,
    },
  ],
};

/** A warning and no refusal: nothing may keep a namespace from being deleted, and the count is as old as the operator. */
export const poolInUse: AdmissionPolicy = {
  name: 'expertpool-in-use',
  purpose: 'Whoever deletes a pool with running tasks is warned.',
  operations: ['DELETE'],
  resource: 'expertpools',
  action: 'Warn',
  validations: [
    {
      expression: '!has(oldObject.status) || !has(oldObject.status.running) || oldObject.status.running == 0',
      message:
        'tasks run in this pool: they lose their workers, and wait until there is a pool of that name again; results cannot be read until then',
    },
  ],
};

export const policies: readonly AdmissionPolicy[] = [
  workerFence,
  orderIdentity,
  privilegedProfile,
  sandboxOrigin,
  poolInUse,
  specRules(agentTask),
];
