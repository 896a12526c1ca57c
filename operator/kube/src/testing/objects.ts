import { canonical } from '../apply/applier.ts';
import { timestamp, type Clock } from '../runtime/clock.ts';
import { prepareCreate, prepareUpdate } from './admission.ts';
import { collectGarbage } from './garbage.ts';
import { isJson, mergePatch, type Json, type Stored } from './json.ts';
import { kindName, type KindDefinition } from './kinds.ts';
import { afterUpdate, applyFields, equalManagers, renderManagers, type Managers, type Writer } from './managers.ts';
import { alreadyExists, conflict, notFound, StatusError } from './status.ts';
import { VersionedStore } from './versions.ts';

export interface Target {
  readonly kind: KindDefinition;
  readonly namespace: string | undefined;
  readonly name: string;
  readonly subresource: string;
}

export interface WriteContext {
  readonly manager: string;
  readonly dryRun: boolean;
}

export interface DeleteBody {
  readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string };
  readonly propagationPolicy?: string;
  readonly gracePeriodSeconds?: number;
}

const keyOf = (target: { readonly namespace?: string | undefined; readonly name: string }): string =>
  target.namespace === undefined ? target.name : `${target.namespace}/${target.name}`;

/** The verbs on objects, without HTTP. */
export class Objects {
  readonly store = new VersionedStore();
  readonly kinds = new Map<string, KindDefinition>();
  readonly #managers = new Map<string, Managers>();
  readonly #clock: Clock;
  readonly #random: () => number;
  #collecting = false;

  constructor(clock: Clock, random: () => number) {
    this.#clock = clock;
    this.#random = random;
  }

  find(target: Target): Stored {
    const object = this.store.get(kindName(target.kind), keyOf(target));
    if (object === undefined) throw notFound(kindName(target.kind), target.name);
    return object;
  }

  create(kind: KindDefinition, namespace: string | undefined, body: Json, context: WriteContext): Stored {
    this.#checkNamespace(kind, namespace);
    const object = prepareCreate(kind, body, namespace, this.#clock.now(), this.#random);
    const target = { kind, namespace, name: object.metadata.name, subresource: '' };
    if (this.store.get(kindName(kind), keyOf(target)) !== undefined) throw alreadyExists(kindName(kind), target.name);
    return this.#put(target, object, afterUpdate(kind, [], this.#writer(context, 'Update', ''), {}, object), context);
  }

  /** Puts an object there with its status, as if it had been there for long: no writer is recorded. */
  place(kind: KindDefinition, namespace: string | undefined, body: Json): void {
    const { status } = body;
    const object = prepareCreate(kind, body, namespace, this.#clock.now(), this.#random);
    const key = keyOf({ name: object.metadata.name, namespace });
    this.#managers.set(object.metadata.uid ?? '', []);
    this.store.put(kindName(kind), key, status === undefined ? object : { ...object, status });
  }

  update(target: Target, body: Json, context: WriteContext): Stored {
    const old = this.find(target);
    return this.#change(target, old, prepareUpdate(target.kind, old, body, target.subresource), context);
  }

  patch(target: Target, patch: Json, context: WriteContext): Stored {
    const old = this.find(target);
    const { managedFields: _, ...metadata } = old.metadata;
    return this.#change(
      target,
      old,
      prepareUpdate(target.kind, old, mergePatch({ ...old, metadata }, patch) as Json, target.subresource),
      context,
    );
  }

  apply(target: Target, declared: Json, force: boolean, context: WriteContext): Stored {
    const { kind, subresource } = target;
    const old = this.store.get(kindName(kind), keyOf(target));
    const writer = this.#writer(context, 'Apply', subresource);
    const scoped = this.#scope(target, declared);
    if (old === undefined) {
      if (subresource !== '') throw notFound(kindName(kind), target.name);
      return this.#createByApply(target, scoped, writer, context);
    }
    const managers = this.#managers.get(old.metadata.uid ?? '') ?? [];
    const { managedFields: _, ...metadata } = old.metadata;
    const applied = applyFields(kind, managers, writer, { ...old, metadata }, scoped, force);
    const body = { ...applied.object, metadata: { ...(applied.object['metadata'] as Json), resourceVersion: rvOf(declared) } };
    return this.#commit(target, old, prepareUpdate(kind, old, body, subresource), applied.managers, context);
  }

  /** The object when something keeps it, undefined when it is gone. */
  delete(target: Target, body: DeleteBody, context: WriteContext): Stored | undefined {
    const object = this.find(target);
    const { uid, resourceVersion } = body.preconditions ?? {};
    if (uid !== undefined && uid !== object.metadata.uid)
      throw conflict(kindName(target.kind), target.name, `the UID in the precondition (${uid}) does not match`);
    if (resourceVersion !== undefined && resourceVersion !== object.metadata.resourceVersion) {
      throw conflict(kindName(target.kind), target.name, `the ResourceVersion in the precondition (${resourceVersion}) does not match`);
    }
    if (body.propagationPolicy === 'Foreground')
      throw new StatusError(501, 'NotImplemented', 'the fake server knows no foreground deletion');
    if (context.dryRun) return object;
    if (body.propagationPolicy === 'Orphan') this.#orphan(object);
    const grace = this.#grace(target.kind, object, body);
    const kept = (object.metadata.finalizers?.length ?? 0) > 0 || grace > 0 || kindName(target.kind) === 'namespaces';
    if (!kept) {
      this.remove(target.kind, object);
      return undefined;
    }
    return this.#terminate(target, object, grace, context);
  }

  /** Takes it out of the store; dependents and namespaces follow later, as on a real server. */
  remove(kind: KindDefinition, object: Stored): void {
    this.store.remove(kindName(kind), keyOf(object.metadata));
    this.#managers.delete(object.metadata.uid ?? '');
    this.collect();
  }

  /** Runs the garbage collector soon, once for all that asked meanwhile: it looks at everything. */
  collect(): void {
    if (this.#collecting) return;
    this.#collecting = true;
    setImmediate(() => {
      this.#collecting = false;
      collectGarbage(this);
    });
  }

  #terminate(target: Target, object: Stored, grace: number, context: WriteContext): Stored {
    const already = object.metadata.deletionTimestamp !== undefined;
    if (already) return object;
    const metadata = {
      ...object.metadata,
      deletionTimestamp: timestamp(this.#clock.now() + grace * 1000),
      deletionGracePeriodSeconds: grace,
    };
    if (target.kind.generation === true) metadata.generation = (metadata.generation ?? 0) + 1;
    const next = { ...object, metadata };
    const managers = this.#managers.get(object.metadata.uid ?? '') ?? [];
    const stored = this.#put(target, next, managers, context);
    if (kindName(target.kind) === 'namespaces') this.collect();
    return stored;
  }

  #grace(kind: KindDefinition, object: Stored, body: DeleteBody): number {
    const spec = object['spec'];
    if (kind.graceful !== true || !isJson(spec) || spec['nodeName'] === undefined) return 0;
    return body.gracePeriodSeconds ?? Number(spec['terminationGracePeriodSeconds'] ?? 30);
  }

  #change(target: Target, old: Stored, next: Stored, context: WriteContext): Stored {
    const managers = this.#managers.get(old.metadata.uid ?? '') ?? [];
    const writer = this.#writer(context, 'Update', target.subresource);
    return this.#commit(target, old, next, afterUpdate(target.kind, managers, writer, old, next), context);
  }

  /** No new version when nothing changed; the object is gone when its last finalizer is. */
  #commit(target: Target, old: Stored, next: Stored, managers: Managers, context: WriteContext): Stored {
    const bare = (object: Stored): Json => ({
      ...object,
      metadata: { ...object.metadata, managedFields: undefined, resourceVersion: undefined },
    });
    const known = this.#managers.get(old.metadata.uid ?? '') ?? [];
    if (canonical(bare(next)) === canonical(bare(old)) && equalManagers(known, managers)) return old;
    const stored = this.#put(target, next, managers, context);
    const { deletionTimestamp, finalizers = [], deletionGracePeriodSeconds = 0 } = stored.metadata;
    const released = deletionTimestamp !== undefined && finalizers.length === 0 && deletionGracePeriodSeconds === 0;
    if (released && !context.dryRun && kindName(target.kind) !== 'namespaces') this.remove(target.kind, stored);
    return stored;
  }

  #put(target: Target, object: Stored, managers: Managers, context: WriteContext): Stored {
    const rendered = { ...object, metadata: { ...object.metadata, managedFields: renderManagers(managers, object.apiVersion) } };
    if (context.dryRun) return rendered;
    this.#managers.set(object.metadata.uid ?? '', managers);
    const stored = this.store.put(kindName(target.kind), keyOf(target), rendered);
    if (this.#lacksOwner(stored)) this.collect();
    return stored;
  }

  /** Reports whether an owner is gone: the writers of an object are kept as long as the object. */
  #lacksOwner({ metadata: { ownerReferences = [] } }: Stored): boolean {
    return ownerReferences.some(({ uid }) => !this.#managers.has(uid));
  }

  #createByApply(target: Target, declared: Json, writer: Writer, context: WriteContext): Stored {
    this.#checkNamespace(target.kind, target.namespace);
    const object = prepareCreate(target.kind, declared, target.namespace, this.#clock.now(), this.#random);
    const { managers } = applyFields(target.kind, [], writer, {}, declared, true);
    return this.#put(target, object, managers, context);
  }

  /** Only the part that this endpoint may write. */
  #scope(target: Target, declared: Json): Json {
    if (target.kind.statusSubresource !== true) return declared;
    const { status, ...rest } = declared;
    if (target.subresource === 'status')
      return { apiVersion: rest['apiVersion'], kind: rest['kind'], ...(status === undefined ? {} : { status }) };
    return rest;
  }

  #orphan(owner: Stored): void {
    for (const kind of this.kinds.values()) {
      for (const [key, object] of this.store.current(kindName(kind))) {
        const references = object.metadata.ownerReferences ?? [];
        if (!references.some((reference) => reference.uid === owner.metadata.uid)) continue;
        const ownerReferences = references.filter((reference) => reference.uid !== owner.metadata.uid);
        this.store.put(kindName(kind), key, { ...object, metadata: { ...object.metadata, ownerReferences } });
      }
    }
  }

  #checkNamespace(kind: KindDefinition, namespace: string | undefined): void {
    if (!kind.resource.namespaced || namespace === undefined) return;
    const found = this.store.get('namespaces', namespace);
    if (found === undefined) throw notFound('namespaces', namespace);
    if (found.metadata.deletionTimestamp === undefined) return;
    const message = `${kindName(kind)} is forbidden: unable to create new content in namespace ${namespace} because it is being terminated`;
    throw new StatusError(403, 'Forbidden', message, { causes: [{ reason: 'NamespaceTerminating' }] });
  }

  #writer(context: WriteContext, operation: Writer['operation'], subresource: string): Writer {
    return { manager: context.manager, operation, subresource, time: timestamp(this.#clock.now()) };
  }
}

function rvOf(declared: Json): unknown {
  return isJson(declared['metadata']) ? declared['metadata']['resourceVersion'] : undefined;
}
