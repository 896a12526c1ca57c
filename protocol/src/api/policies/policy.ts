import { group, version } from '../base/group.ts';

/** A condition that must hold, and what the refused caller reads. */
export interface Validation {
  readonly expression: string;
  readonly message: string;
  readonly messageExpression?: string;
  /** Default: the caller may not do it. Invalid: no caller may. */
  readonly reason?: 'Forbidden' | 'Invalid';
}

/** A ValidatingAdmissionPolicy of ours, in short. */
export interface AdmissionPolicy {
  readonly name: string;
  /** Reason that it exists; becomes an annotation. */
  readonly purpose: string;
  readonly operations: readonly ('CREATE' | 'UPDATE' | 'DELETE')[];
  /** Resource, or resource and subresource: `agenttasks/status`. */
  readonly resource: string;
  /** For resources of the core group (`v1`): the labels of those that are concerned, before or after the write. */
  readonly coreLabels?: Readonly<Record<string, string>>;
  /** Conditions of the concerned requests; all must hold. */
  readonly conditions?: readonly { readonly name: string; readonly expression: string }[];
  /** Expressions by name, for the validations and those after them. */
  readonly variables?: readonly { readonly name: string; readonly expression: string }[];
  readonly validations: readonly Validation[];
  /** Warn: the caller reads the message, and the request is carried out. Default: it is refused. */
  readonly action?: 'Warn' | 'Deny';
}

type Manifest = Readonly<Record<string, unknown>>;

/** The policy and its binding. It fails closed: when an expression cannot be evaluated, the write is refused. */
export function policyManifests(policy: AdmissionPolicy): readonly [Manifest, Manifest] {
  const name = `${policy.name}.${group}`;
  const validationActions = [policy.action ?? 'Deny'];
  const api = { apiVersion: 'admissionregistration.k8s.io/v1' };
  const served =
    policy.coreLabels === undefined ? { apiGroups: [group], apiVersions: [version] } : { apiGroups: [''], apiVersions: ['v1'] };
  return [
    {
      ...api,
      kind: 'ValidatingAdmissionPolicy',
      metadata: { name, annotations: { [`${group}/purpose`]: policy.purpose } },
      spec: {
        failurePolicy: 'Fail',
        // With what the API server would set: else each client-side apply patches it, and one by server side conflicts.
        matchConstraints: {
          matchPolicy: 'Equivalent',
          namespaceSelector: {},
          objectSelector: policy.coreLabels === undefined ? {} : { matchLabels: policy.coreLabels },
          resourceRules: [{ ...served, operations: policy.operations, resources: [policy.resource], scope: '*' }],
        },
        ...(policy.conditions === undefined ? {} : { matchConditions: policy.conditions }),
        ...(policy.variables === undefined ? {} : { variables: policy.variables }),
        validations: policy.validations.map((validation) => ({ ...validation, reason: validation.reason ?? 'Forbidden' })),
      },
    },
    { ...api, kind: 'ValidatingAdmissionPolicyBinding', metadata: { name }, spec: { policyName: name, validationActions } },
  ];
}
