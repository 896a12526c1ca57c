/** One admission policy, as data. Imports the name of the group and its siblings only. */
import { group } from '../base/group.ts';
import type { AdmissionPolicy } from './policy.ts';
import { assignVerb } from './workerFence.ts';

/**
 * A pod counts as a sandbox by its labels and its owner, which any account that may create pods in a namespace can write. So only an
 * account that may assign tasks, the operator, makes pods with that label or changes them; the parts of Kubernetes itself may, too.
 */
export const sandboxOrigin: AdmissionPolicy = {
  name: 'sandbox-pod-origin',
  purpose: 'Only the operator makes and changes sandbox pods: what looks like one is one.',
  operations: ['CREATE', 'UPDATE'],
  resource: 'pods',
  coreLabels: { [`${group}/component`]: 'sandbox' },
  conditions: [
    {
      name: 'not-kubernetes-itself',
      expression:
        "!request.userInfo.username.startsWith('system:serviceaccount:kube-system:') && !request.userInfo.username.startsWith('system:kube-') && !('system:nodes' in request.userInfo.groups)",
    },
  ],
  validations: [
    {
      expression: `authorizer.group('${group}').resource('agenttasks').namespace(request.namespace).check('${assignVerb}').allowed()`,
      message: `pods with the label ${group}/component=sandbox are made and changed by the operator alone; leave the label out, or change the AgentTask`,
    },
  ],
};
