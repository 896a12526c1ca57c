import { group } from '../base/group.ts';
import type { AdmissionPolicy } from './policy.ts';

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
