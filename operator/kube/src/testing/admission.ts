import { randomUUID } from 'node:crypto';
import { canonical } from '../apply/applier.ts';
import { timestamp } from '../runtime/clock.ts';
import { type Json, type Meta, type Stored, isJson } from './json.ts';
import { kindName, type KindDefinition } from './kinds.ts';
import { badRequest, conflict, invalid, StatusError } from './status.ts';

/** DNS subdomain (RFC 1123). */
const nameForm = /^(?=.{1,253}$)[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;

const alphabet = 'bcdfghjklmnpqrstvwxz2456789';

function suffix(random: () => number): string {
  return Array.from({ length: 5 }, () => alphabet[Math.floor(random() * alphabet.length)]).join('');
}

/** A new object as the server completes it. Throws what the server would answer. */
export function prepareCreate(kind: KindDefinition, body: Json, namespace: string | undefined, now: number, random: () => number): Stored {
  const { resource } = kind;
  if (body['apiVersion'] !== undefined && (body['apiVersion'] !== resource.apiVersion || body['kind'] !== resource.kind)) {
    throw badRequest(`the object provided is of another kind: ${JSON.stringify([body['apiVersion'], body['kind']])}`);
  }
  const meta = (isJson(body['metadata']) ? body['metadata'] : {}) as Partial<Meta>;
  if (meta.resourceVersion) throw new StatusError(500, 'InternalError', 'resourceVersion should not be set on objects to be created');
  if (meta.namespace !== undefined && namespace !== undefined && meta.namespace !== namespace) {
    throw badRequest(`the namespace of the provided object does not match the namespace sent on the request`);
  }
  const name = meta.name ?? (meta.generateName === undefined ? undefined : `${meta.generateName}${suffix(random)}`);
  if (name === undefined) throw invalid(resource.kind, '', 'metadata.name: Required value: name or generateName is required');
  if (!nameForm.test(name)) throw invalid(resource.kind, name, `metadata.name: Invalid value: ${JSON.stringify(name)}`);
  const metadata: Meta = {
    ...meta,
    name,
    ...(namespace === undefined ? {} : { namespace }),
    uid: randomUUID(),
    creationTimestamp: timestamp(now),
    ...(kind.generation === true ? { generation: 1 } : {}),
  };
  delete metadata.deletionTimestamp;
  const object: Stored = { ...body, apiVersion: resource.apiVersion, kind: resource.kind, metadata };
  if (kind.statusSubresource === true) delete object['status'];
  validate(kind, object);
  return object;
}

/** Bytes of all annotations together, and characters of one value of a label (apimachinery pkg/api/validation). */
const mostAnnotations = 262_144;
const longestLabel = 63;

function checkMetadata(kind: KindDefinition, { metadata }: Stored): void {
  const refuse = (why: string): StatusError => invalid(kind.resource.kind, metadata.name, why);
  const annotations = Object.entries(metadata.annotations ?? {});
  const size = annotations.reduce((sum, [key, value]) => sum + Buffer.byteLength(key) + Buffer.byteLength(value), 0);
  if (size > mostAnnotations) throw refuse(`metadata.annotations: Too long: may not be more than ${mostAnnotations} bytes`);
  const label = Object.values(metadata.labels ?? {}).find((value) => value.length > longestLabel);
  if (label !== undefined)
    throw refuse(`metadata.labels: Invalid value: ${JSON.stringify(label)}: must be no more than ${longestLabel} characters`);
}

export function validate(kind: KindDefinition, object: Stored): void {
  checkMetadata(kind, object);
  const wrong = kind.validate?.(object);
  if (wrong !== undefined) throw invalid(kind.resource.kind, object.metadata.name, wrong);
}

/** Without what the server itself counts. */
function body(object: Json): Json {
  return { ...object, metadata: undefined, status: undefined };
}

/** The next state of an object: what may not change is as before, status apart from the rest, generation counted. */
export function prepareUpdate(kind: KindDefinition, old: Stored, next: Json, subresource: string): Stored {
  const meta = (isJson(next['metadata']) ? next['metadata'] : {}) as Partial<Meta>;
  const { name } = old.metadata;
  if (meta.resourceVersion && meta.resourceVersion !== old.metadata.resourceVersion) {
    throw conflict(kindName(kind), name, 'the object has been modified; please apply your changes to the latest version and try again');
  }
  if (meta.uid !== undefined && meta.uid !== old.metadata.uid)
    throw invalid(kind.resource.kind, name, 'metadata.uid: Invalid value: field is immutable');
  const object: Stored = subresource === 'status' ? statusOf(old, next) : mainOf(kind, old, next, meta);
  if (kind.generation === true && canonical(body(object)) !== canonical(body(old))) {
    object.metadata = { ...object.metadata, generation: (old.metadata.generation ?? 0) + 1 };
  }
  validate(kind, object);
  return object;
}

function statusOf(old: Stored, next: Json): Stored {
  const object: Stored = { ...old, metadata: { ...old.metadata } };
  if (next['status'] === undefined) delete object['status'];
  else object['status'] = next['status'];
  return object;
}

function mainOf(kind: KindDefinition, old: Stored, next: Json, meta: Partial<Meta>): Stored {
  const { uid, creationTimestamp, generation, deletionTimestamp, deletionGracePeriodSeconds, name, namespace, resourceVersion } =
    old.metadata;
  const kept: Json = {
    uid,
    creationTimestamp,
    generation,
    deletionTimestamp,
    deletionGracePeriodSeconds,
    name,
    namespace,
    resourceVersion,
  };
  const metadata = { ...meta, ...kept } as Meta;
  for (const [field, value] of Object.entries(kept)) if (value === undefined) delete metadata[field];
  if (metadata.finalizers?.length === 0) delete metadata.finalizers;
  const added = (metadata.finalizers ?? []).filter((finalizer) => !(old.metadata.finalizers ?? []).includes(finalizer));
  if (deletionTimestamp !== undefined && added.length > 0) {
    throw invalid(
      kind.resource.kind,
      name,
      `metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted: ${added.join()}`,
    );
  }
  const object: Stored = { ...next, apiVersion: old.apiVersion, kind: old.kind, metadata };
  if (kind.statusSubresource !== true) return object;
  if (old['status'] === undefined) delete object['status'];
  else object['status'] = old['status'];
  return object;
}
