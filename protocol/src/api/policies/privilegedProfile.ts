import { group } from '../base/group.ts';
import type { AdmissionPolicy } from './policy.ts';

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
