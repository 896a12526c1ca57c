// protocol, api/reasons: type of an entry of the catalogue, and condition types of each kind, with meanings. Imports nothing of other folders.

/** Meaning of a reason, and the remedy where a person has to act. */
export type ReasonEntry = readonly [meaning: string, cure?: string];

const whole = {
  Ready: 'Whether all that is asked for is there; for a task and an order, whether it succeeded.',
  Reconciling: 'Present while work on the object goes on.',
  Stalled: 'Present while only a change from outside can help.',
} as const;

const rolledOut = {
  PlacementConflict: 'Whether two stacks hand out the GPUs.',
  PlacementFeasible: 'Whether all engines have a place on a GPU.',
  PlacementSharing: 'Whether GPUs are shared as the ConfigMap of slots says.',
  RolloutHealthy: 'Whether the rollout goes its way, or there is none.',
  ShadowHealthy: 'Present while a revision is in shadow: whether it answers copies of requests.',
} as const;

/** The types of conditions of each kind, with their meanings. */
export const conditionTypes = {
  AgentTask: {
    ...whole,
    Accepted: 'Whether a pool takes the task.',
    AwaitingApproval: 'Present while a person has to decide.',
    CommandsUnjudged: 'Present where an agent program runs the attempts: gate 1 does not see the commands that it runs by itself.',
    Delivered: 'Present after a success where spec.output is set: whether the result is where it was to go.',
    Finished: 'Whether the task has ended.',
    NetworkOpened: 'Present while a NetworkPolicy of the namespace opens the sandbox.',
    RolledBack: 'Present after the end where something was to be undone: whether it was.',
    SandboxReady: 'Whether the sandbox answers.',
    Scheduled: 'Whether a worker has the task.',
    StorageReady: 'Whether the volume of the sandbox is there.',
    Succeeded: 'What became of the task; Unknown until it is judged.',
    Suspended: 'Present while spec.suspend is true.',
  },
  EnergyModel: {
    ...whole,
    ...rolledOut,
    Calibrated: 'Whether the probabilities of the model count.',
  },
  ExpertScale: whole,
  ExpertPool: {
    ...whole,
    ...rolledOut,
    Accepted: 'Whether the spec can be carried out.',
    ArtifactsReady: 'Whether all weights were found and read.',
    Degraded: 'Present while the pool goes on without something.',
    EnginesReady: 'Whether the experts that propose answer.',
    EstimateDrift: 'Whether engines hold another number of tokens than was reckoned.',
    NamespacesGranted: 'Whether all namespaces of spec.sandbox.warm consent.',
    StorageReady: 'Whether artifacts can be stored.',
    WorkersReady: 'Whether all workers are ready.',
  },
} as const;

/** A type of condition that objects of the kind may have. */
export type ConditionType<Kind extends keyof typeof conditionTypes> = keyof (typeof conditionTypes)[Kind];
