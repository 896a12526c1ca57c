/** GPUs: who has how much of which, and who did not get a place, and by how much. */
import type { ReactNode } from 'react';
import type { EnergyModel, ExpertPool } from '@agentfleet/protocol/api';
import { bytes } from '../../base/text.ts';
import { Panel } from '../../parts/bits.tsx';
import { Stack } from '../../parts/charts.tsx';

interface Memory {
  readonly estimated: number;
  readonly measured: number;
}

/** Places of the engines of a pool or a model, and the memory that their tokens were measured in. */
interface Placed {
  readonly owner: string;
  readonly plan: NonNullable<NonNullable<ExpertPool['status']>['plan']>;
  readonly memory: ReadonlyMap<string, Memory>;
}

export function placedOf(pools: readonly ExpertPool[], models: readonly EnergyModel[]): readonly Placed[] {
  const ofPools = pools.flatMap(({ metadata, status }) =>
    status?.plan === undefined
      ? []
      : [
          {
            owner: metadata.name,
            plan: status.plan,
            memory: new Map((status.experts ?? []).flatMap(({ name, memory }) => (memory === undefined ? [] : [[name, memory] as const]))),
          },
        ],
  );
  const ofModels = models.flatMap(({ metadata, status }) =>
    status?.plan === undefined ? [] : [{ owner: metadata.name, plan: status.plan, memory: new Map<string, Memory>() }],
  );
  return [...ofPools, ...ofModels];
}

const sum = (numbers: readonly number[]): number => numbers.reduce((all, one) => all + one, 0);

const words: Readonly<Record<string, string>> = {
  NotEnoughMemory: 'not enough memory beside its tenants',
  Unhealthy: 'the GPU is not healthy',
  NotAllowed: 'the pool may not use it',
  Exclusive: 'a tenant has it alone',
  Apart: 'it must not be beside a tenant',
  NotLinked: 'no NVLink to its other GPUs',
  HeldElsewhere: 'somebody outside of the fleet holds it',
  SizeUnknown: 'nobody knows its size yet',
  NotJoined: 'pods of others have the GPU, and nobody can join them',
  UnknownSlot: 'no GPU has this name',
  GroupElsewhere: 'the rest of its group is on another node',
  NotDivisible: 'its heads cannot be parted among so many GPUs',
  DraftVocabulary: 'its draft has another vocabulary',
};

interface Tenant {
  readonly name: string;
  readonly slot: string;
  readonly bytes: number;
  readonly slotBytes: number | undefined;
  readonly admitted: boolean;
  readonly memory: Memory | undefined;
}

const tenantsOf = (placed: readonly Placed[]): readonly Tenant[] =>
  placed.flatMap(({ owner, plan, memory }) =>
    plan.assignments.map(({ item, slot, bytes, slotBytes, admitted }) => ({
      name: `${owner}/${item}`,
      slot,
      bytes,
      slotBytes,
      admitted,
      memory: memory.get(item),
    })),
  );

/** Returns the bytes that a tenant takes with its tokens as they were measured. */
const takenBy = ({ bytes, memory }: Tenant): number => bytes + (memory === undefined ? 0 : memory.measured - memory.estimated);

/** One GPU: what is planned of its memory, and below it what was measured. */
function SlotBar({ slot, tenants }: { readonly slot: string; readonly tenants: readonly Tenant[] }): ReactNode {
  const planned = sum(tenants.map((one) => one.bytes));
  const total = tenants.find((one) => one.slotBytes !== undefined)?.slotBytes;
  const isMeasured = tenants.some(({ memory }) => memory !== undefined);
  const bar = (what: string, of: (tenant: Tenant) => number): ReactNode => (
    <Stack
      parts={tenants.map((tenant, at) => ({ name: tenant.name, value: of(tenant), tone: `part-${at % 4}` }))}
      total={Math.max(planned, total ?? 0)}
      label={`${slot}${total === undefined ? '' : `, ${bytes(total)}`}, ${what}: ${tenants.map((one) => `${one.name} ${bytes(of(one))}`).join(', ')}`}
    />
  );
  return (
    <li>
      <div className="row">
        <strong>{slot}</strong>
        <span className="muted small">
          {bytes(planned)} planned
          {total === undefined ? ', its size is not reported' : ` of ${bytes(total)}, ${bytes(Math.max(0, total - planned))} free`}
        </span>
      </div>
      {bar('planned', (tenant) => tenant.bytes)}
      {isMeasured && (
        <>
          <span className="muted small">{bytes(sum(tenants.map(takenBy)))} with tokens as measured</span>
          {bar('with tokens as measured', takenBy)}
        </>
      )}
      <p className="legend">
        {tenants.map(({ name, bytes: size, admitted, memory }, at) => (
          <span key={name}>
            <span className={`swatch part-${at % 4}`} aria-hidden="true" />
            {name} <span className="muted">{bytes(size)}</span>
            {memory !== undefined && (
              <span className="muted">
                , its tokens {bytes(memory.estimated)} reckoned, {bytes(memory.measured)} measured
              </span>
            )}
            {!admitted && <span className="badge-text">waits for its turn</span>}
          </span>
        ))}
      </p>
    </li>
  );
}

function Rejected({ placed }: { readonly placed: readonly Placed[] }): ReactNode {
  const rejected = placed.flatMap(({ owner, plan }) => (plan.rejected ?? []).map((one) => ({ ...one, name: `${owner}/${one.item}` })));
  if (rejected.length === 0) return null;
  return (
    <Panel title="Places that were not given">
      <div className="scroll" tabIndex={0} role="region" aria-label="Table of places that were not given">
        <table className="table">
          <thead>
            <tr>
              <th>Who</th>
              <th>Where</th>
              <th>Why not</th>
              <th className="right">Short by</th>
            </tr>
          </thead>
          <tbody>
            {rejected.map(({ name, slot, reason, shortByBytes }, at) => (
              <tr key={`${name} ${slot ?? ''} ${at}`}>
                <td>{name}</td>
                <td>{slot ?? 'anywhere'}</td>
                <td>
                  {reason} <span className="muted">{words[reason]}</span>
                </td>
                <td className="right">{shortByBytes === undefined ? '' : bytes(shortByBytes)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Panel>
  );
}

export function SlotBars({ placed }: { readonly placed: readonly Placed[] }): ReactNode {
  const slots = [...Map.groupBy(tenantsOf(placed), ({ slot }) => slot)].sort(([a], [b]) => (a < b ? -1 : 1));
  const modes = [...new Set(placed.flatMap(({ plan }) => plan.mode ?? []))];
  return (
    <>
      <Panel title="GPUs" aside={<span className="muted small">{modes.length === 0 ? 'no mode can be used' : modes.join(', ')}</span>}>
        <ul className="slots">
          {slots.map(([slot, tenants]) => (
            <SlotBar key={slot} slot={slot} tenants={tenants} />
          ))}
        </ul>
      </Panel>
      <Rejected placed={placed} />
    </>
  );
}
