// protocol, api/policies: admission policy for the requester of an AgentTaskOrder. May import agenttask, base, crd and schema of api alone.
import type { AdmissionPolicy } from './policy.ts';

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
