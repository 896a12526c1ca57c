// Made by `npm run generate` from protocol/src/api.

/** `metav1.ObjectMeta` as far as tasks have it. */
export interface ObjectMeta {
  readonly name: string;
  readonly namespace?: string;
  readonly uid?: string;
  readonly resourceVersion?: string;
  readonly generation?: number;
  readonly creationTimestamp?: string;
  readonly deletionTimestamp?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
}

/** Work that must become true, proved by checks, or be undone. */
export interface AgentTask {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: ObjectMeta;
  readonly spec: AgentTaskSpec;
  readonly status?: AgentTaskStatus;
}

/** The state that must become true, and the bounds of the work. */
export interface AgentTaskSpec {
  /** The pool that does the work; default: the pool that is the default for the namespace. */
  readonly poolRef?: {
    /** Name of the ExpertPool. */
    readonly name: string;
    /** Namespace of the ExpertPool, which must allow this one; default: the namespace of the task. */
    readonly namespace?: string;
  };
  /** Profile of the pool that sets how much is computed. */
  readonly profile?: string;
  /** Tasks that have to end with Succeeded before this one begins; until then it takes no place in the queue. */
  readonly dependsOn?: readonly {
    /** Name of the AgentTask. */
    readonly name: string;
  }[];
  /** Place in the queue; higher goes first. */
  readonly priority?: number;
  /** The state to reach, in words. */
  readonly goal: string;
  /** The files that the agent starts from. Snapshot 0 is taken when they are in place and set up. */
  readonly workspace: {
    /** Name of the member that is set. */
    readonly type: 'Git' | 'Inline' | 'ConfigMap';
    /** A commit of a Git repository. */
    readonly git?: {
      /** Address of the repository: https://host/path. */
      readonly url: string;
      /** Branch, tag or commit to start from. */
      readonly ref: string;
      /** Folder of the repository that becomes the workspace; default: all of it. */
      readonly subPath?: string;
      /** Credential of the pool that is sent to the host, which it must be bound to; default: none. */
      readonly credential?: string;
      /** Commits of history that are fetched; default: all. */
      readonly depth?: number;
    };
    /** Files that are part of this object. */
    readonly inline?: {
      /** The files; each path once. */
      readonly files: readonly {
        /** Path below the workspace. */
        readonly path: string;
        /** Content, UTF-8. */
        readonly content: string;
        /** Permission bits, for example 0755. */
        readonly mode?: number;
      }[];
    };
    /** A ConfigMap of the namespace; each key becomes a file. */
    readonly configMap?: {
      /** Name of the object. */
      readonly name: string;
    };
  };
  /** Commands before snapshot 0, in this order. */
  readonly setup?: readonly {
    /** Name in logs and messages. */
    readonly name: string;
    /** Program and arguments; no shell in between. */
    readonly command: readonly string[];
    /** Wall time in seconds; default: 600, or spec.deadlineSeconds where that is less. */
    readonly timeoutSeconds?: number;
    /** Hosts in reach through the egress proxy. Registries: those that the platform has listed. Allowed: spec.policy.network.hosts. */
    readonly network?: 'None' | 'Registries' | 'Allowed';
  }[];
  /** Conditions that must hold for the task to be called Succeeded. */
  readonly checks: readonly {
    /** Name in status and messages. */
    readonly name: string;
    /** Kind of proof. Command: the exit status and output of a program. Artifact: a file of the workspace. Review: a person, who sees the change after all other checks hold. */
    readonly type?: 'Command' | 'Artifact' | 'Review';
    /** Program and arguments; no shell in between. */
    readonly command?: readonly string[];
    /** With Artifact: a regular file below the workspace that must be there at the end. */
    readonly path?: string;
    /** Least size of the file. */
    readonly minBytes?: number;
    /** Texts that the file must hold, each of them. */
    readonly contains?: readonly string[];
    /** JSON Schema (draft 2020-12), as JSON, that the file must fulfil as JSON. */
    readonly jsonSchema?: string;
    /** Wall time in seconds; default: 600, or spec.deadlineSeconds where that is less. */
    readonly timeoutSeconds?: number;
    /** Format by which single tests are distinguished in the output; Exit looks at the exit status only. */
    readonly format?: 'Auto' | 'Exit' | 'JUnit' | 'TAP' | 'Pytest' | 'NodeTest' | 'GoTest';
    /** Pass: passes at the end. FailThenPass: fails at snapshot 0 too, so that passing proves a change. NoRegression: what fails at snapshot 0 may fail, what passes there has to. Auto: Pass or FailThenPass, decided at snapshot 0. */
    readonly expect?: 'Auto' | 'Pass' | 'FailThenPass' | 'NoRegression';
  }[];
  /** Behaviour where all checks hold at snapshot 0. Work: with a chat model it is worked on, and succeeds by an accepted Review, an answer or a new Artifact, else it ends as Unproved. Succeed: it ends at once. */
  readonly whenAlreadyTrue?: 'Work' | 'Succeed';
  /** Files that the agent must not change, because the checks depend on them. */
  readonly protect?: {
    /** Default: test files, test configuration and the entry scripts of the checks. None: only paths. */
    readonly mode?: 'Default' | 'None';
    /** Further patterns. */
    readonly paths?: readonly string[];
    /** Patterns of what the agent may change although the default protects it, such as a script that a check runs and that is to be written. Not of paths. */
    readonly except?: readonly string[];
  };
  /** Rights of the agent. */
  readonly policy?: {
    /** Set of rules for commands and paths, of those that the pool lists. Strict refuses what Default lets pass with care. Permissive asks a person about what Default refuses, such as a push. Privileged leaves that to gate 2, and only who may create AgentTaskOrders may ask for it. */
    readonly profile?: 'Default' | 'Strict' | 'Permissive' | 'Privileged';
    /** Hosts that the sandbox may reach. */
    readonly network?: {
      /** Loopback: only itself. None: not even itself. Allowed: itself, and hosts through the egress proxy. */
      readonly mode?: 'Loopback' | 'None' | 'Allowed';
      /** Hosts that mode Allowed opens, of those that the pool allows; without a list of the pool, those with public addresses. */
      readonly hosts?: readonly {
        /** Host name; no wildcards. */
        readonly host: string;
        /** TCP port. */
        readonly port?: number;
      }[];
    };
    /** Acts that wait for a person, who answers with an AgentTaskOrder. */
    readonly approvals?: {
      /** Kinds of acts that wait. */
      readonly require: readonly ('Destructive' | 'External')[];
      /** Time that an act waits; the clocks of the task stand still. */
      readonly timeoutSeconds?: number;
    };
    /** Weakest wall that is acceptable, weakest first; default: what the pool demands. */
    readonly minIsolation?: 'Container' | 'Seccomp' | 'Landlock' | 'UserNamespace' | 'RuntimeClass';
  };
  /** Tools of the model. */
  readonly tools?: {
    /** Names of tools that models do not have, beside those that the pool, or the task, denies. */
    readonly deny?: readonly string[];
    /** MCP servers whose tools the model has: of the pool by their name, or with a url of a host of spec.policy.allowedHosts of the pool. */
    readonly mcpServers?: readonly {
      /** Name; its tools are called <name>__<tool>. */
      readonly name: string;
      /** Address of its endpoint for streamable HTTP, as https://host/mcp. */
      readonly url?: string;
      /** Whether the attempt fails, to be tried again, when it does not answer at the start; else the model does without. */
      readonly required?: boolean;
    }[];
  };
  /** Bounds of the whole task. A bound that is left out is the one of the pool. */
  readonly budget?: {
    /** Seconds in which the task runs, over all attempts. */
    readonly wallSeconds?: number;
    /** Commands and edits, over all attempts. */
    readonly toolCalls?: number;
    /** Tokens that models read and write for the task, over all attempts. */
    readonly tokens?: number;
    /** Cost of models, over all attempts, in the currency of the prices of the pool. */
    readonly cost?: string;
  };
  /** Seconds from when its first sandbox answers until the task has failed; the clock stops while it is suspended. */
  readonly deadlineSeconds?: number;
  /** Number of attempts, and the failures that are tried again. */
  readonly attempts?: {
    /** Attempts that count; failures of the infrastructure do not, but five in a row before anything was begun end the task. */
    readonly max?: number;
    /** Wait before the next attempt: twice as long after each failure in a row, up to six minutes. */
    readonly backoff?: {
      /** First wait. */
      readonly seconds?: number;
    };
    /** Exceptions from what a class does by itself. */
    readonly rules?: readonly {
      /** Class of the failure. */
      readonly class: 'Infrastructure' | 'AgentError' | 'CheckFailed' | 'Unproved' | 'Vetoed' | 'PolicyViolation' | 'BudgetExceeded' | 'Stuck' | 'DeadlineExceeded' | 'ApprovalRejected' | 'InvalidInput';
      /** Retry: next attempt on the tree as it is. RollbackAndRetry: on snapshot 0. Fail: the task has failed. Ignore: next attempt, not counted. */
      readonly action: 'Retry' | 'RollbackAndRetry' | 'Fail' | 'Ignore';
    }[];
  };
  /** The sandbox pod. Fields that are left out are as in the pool; labels, annotations, nodes, tolerations and priority always are. */
  readonly sandbox?: {
    /** Image with the tools; nothing of ours needs to be in it. */
    readonly image?: string;
    /** Requests and limits of the container. */
    readonly resources?: {
      /** Amounts that are set aside for it. Names: cpu, memory, ephemeral-storage. */
      readonly requests?: Readonly<Record<string, unknown>>;
      /** Amounts that it may use at most. Names: cpu, memory, ephemeral-storage. */
      readonly limits?: Readonly<Record<string, unknown>>;
    };
    /** Bytes that workspace and home may hold together. */
    readonly workspaceSizeLimit?: string;
    /** RuntimeClass of the pod. */
    readonly runtimeClassName?: string;
    /** A volume of the sandbox, instead of the disk of its node. It is deleted with the task. */
    readonly storage?: {
      /** StorageClass of the volume. */
      readonly storageClassName: string;
      /** Bytes of the volume: workspace, home and what the keeper stores. */
      readonly size: string;
      /** VolumeSnapshotClass. When it is set, the volume of a suspended or ended task becomes a VolumeSnapshot, from which the task goes on. */
      readonly volumeSnapshotClassName?: string;
    };
  };
  /** Times at which the tree is captured. */
  readonly snapshots?: {
    /** RiskGated: before steps that are judged risky. EveryStep: before each step. InitialOnly: snapshot 0 alone. */
    readonly policy?: 'RiskGated' | 'EveryStep' | 'InitialOnly';
    /** Seconds between two durable copies while the task runs and something changed. */
    readonly checkpointSeconds?: number;
  };
  /** Rollback of the tree. */
  readonly rollback?: {
    /** RestoreInitial: as at snapshot 0. RestoreLastGreen: as when the checks last passed. Keep: as the agent left it. */
    readonly whenFailed?: 'RestoreInitial' | 'RestoreLastGreen' | 'Keep';
  };
  /** Whether the task waits after its current step; its clocks stop. */
  readonly suspend?: boolean;
  /** Stop: end after the current step and keep the tree. Rollback: end and restore snapshot 0. Terminate: end at once, delete the sandbox. */
  readonly cancel?: 'None' | 'Stop' | 'Rollback' | 'Terminate';
  /** Destination of a result that succeeded, beside the artifacts. */
  readonly output?: {
    /** A branch of the repository of spec.workspace.git, and a pull request into spec.workspace.git.ref. */
    readonly git: {
      /** Branch that the result is pushed to; it belongs to the task. Default: agentfleet/ with name and uid of the task. */
      readonly branch?: string;
      /** Credential of the pool that may push, and open pull requests; default: spec.workspace.git.credential. */
      readonly credential?: string;
      /** The pull request, or merge request, that is opened for the branch. */
      readonly pullRequest?: {
        /** Its title; default: the first line of spec.goal. */
        readonly title?: string;
        /** Software that serves the repository; default: found out by its host and by its API. Gitea: also Forgejo. */
        readonly forge?: 'GitHub' | 'GitLab' | 'Gitea';
      };
    };
  };
  /** Uses of the record of the work beyond the task. */
  readonly trace?: {
    /** None: nothing is exported. Internal: "fleet trace" exports it for reading and measuring. Training: also to train models. Stands in the event log before any work. */
    readonly consent: 'None' | 'Internal' | 'Training';
  };
  /** Time for which a finished task keeps what it holds. */
  readonly retention?: {
    /** Seconds after the end that the sandbox pod stays; with 0 it goes at once, or after 900 s where the tree is kept (cancel: Stop, whenFailed: Keep). */
    readonly sandboxSeconds?: number;
    /** Seconds after the end that the durable copies and the VolumeSnapshot of spec.sandbox.storage stay. */
    readonly snapshotsSeconds?: number;
  };
  /** Seconds after the end until this object is deleted, if no task waits for it; default: never. */
  readonly ttlSecondsAfterFinished?: number;
}

/** Observed state of the task. */
export interface AgentTaskStatus {
  /** Generation of the spec that this status answers. */
  readonly observedGeneration?: number;
  /** Summary for people; programs read conditions. */
  readonly phase?: 'Pending' | 'Queued' | 'Preparing' | 'Running' | 'Verifying' | 'RollingBack' | 'Suspended' | 'AwaitingApproval' | 'Succeeded' | 'Failed' | 'Cancelled';
  /** Whether the task has ended; a string, because watches select by it. */
  readonly finished?: 'true' | 'false';
  /** Place in the queue. */
  readonly queue?: {
    /** Tasks before this one; absent: it waits for something else than a slot. */
    readonly position?: number;
    /** Since when it waits, what spec.limits.queueTimeoutSeconds of the pool is counted from. */
    readonly since?: string;
  };
  /** Aspects of the state, one entry for each type. */
  readonly conditions?: readonly {
    /** Aspect in CamelCase, for example Ready. */
    readonly type: string;
    /** Whether it holds. */
    readonly status: 'True' | 'False' | 'Unknown';
    /** Generation of the object that this was computed from. */
    readonly observedGeneration?: number;
    /** Time at which status last changed. */
    readonly lastTransitionTime: string;
    /** Reason in CamelCase, for programs. */
    readonly reason: string;
    /** Reason in words, for people. */
    readonly message: string;
  }[];
  /** Times by which the deadline is counted. */
  readonly clock?: {
    /** Time at which the first sandbox of the task answered. */
    readonly startedAt: string;
    /** Seconds in which the clock stood still, pauses that have ended. */
    readonly pausedSeconds: number;
    /** Since when it stands still now. */
    readonly pausedAt?: string;
  };
  /** The worker that runs the task. */
  readonly assignment?: {
    /** Attempt that the worker is to run. */
    readonly attempt: number;
    /** Grows with every assignment; whatever is done under a lower one is refused. */
    readonly epoch: number;
    /** Pod of the worker. */
    readonly worker: string;
    /** Namespace of that pod. */
    readonly workerNamespace: string;
    /** Pod of the sandbox, in the namespace of the task. */
    readonly sandbox: string;
    /** Whether the sandbox was waiting ready. */
    readonly warm: boolean;
    /** Time of the assignment. */
    readonly since: string;
    /** Time at which the sandbox answered for the first time; absent: it has not yet. */
    readonly sandboxReadyAt?: string;
    /** Order to the worker. */
    readonly directive: 'Run' | 'Rollback' | 'Quiesce' | 'Stop';
    /** Amounts that the task may use over all attempts under this assignment, where spec.limits.spending of its pool caps it; set aside of the caps. */
    readonly budget?: {
      /** Tokens of chat models, in and out. */
      readonly tokens?: number;
      /** Cost of the tokens, in the currency of the pool. */
      readonly cost?: string;
    };
    /** Revision of the experts that the task works with; absent: the pool has no rollout. */
    readonly revision?: string;
    /** Revision of the EnergyModel that judges its acts; absent: the model has no rollout. */
    readonly verifierRevision?: string;
    /** The rollout, of the pool or of its model, that the end of the task is counted for. */
    readonly rollout?: string;
    /** The rollout whose revision gets copies of the requests of the task; its answers are compared only. */
    readonly shadow?: string;
  };
  /** The pod of assignment.sandbox, once it was ready, until it is lost: what the worker needs to reach it. */
  readonly sandbox?: {
    /** Uid of the pod; the audience of tokens for its keeper. */
    readonly uid: string;
    /** IP address of the pod. */
    readonly address: string;
  };
  /** The newest attempts, oldest first. */
  readonly attempts?: readonly {
    /** Counts from 1. */
    readonly number: number;
    /** Start of the attempt. */
    readonly startedAt: string;
    /** End of the attempt. */
    readonly endedAt?: string;
    /** Class of the failure. */
    readonly class?: 'Infrastructure' | 'AgentError' | 'CheckFailed' | 'Unproved' | 'Vetoed' | 'PolicyViolation' | 'BudgetExceeded' | 'Stuck' | 'DeadlineExceeded' | 'ApprovalRejected' | 'InvalidInput';
    /** Reason for its end, in CamelCase. */
    readonly reason?: string;
    /** False: it failed before anything was begun in its sandbox, which was given back. Such failures in a row end the task. */
    readonly started?: boolean;
    /** The part that is counted against budgets and caps; all that was used is in status.totals. */
    readonly usage?: {
      /** Tokens that chat models read; other engines report none. */
      readonly tokensIn: number;
      /** Tokens that chat models wrote; other engines report none. */
      readonly tokensOut: number;
      /** Cost by the prices of the pool, in its currency; absent: nothing with a price was used. */
      readonly cost?: string;
      /** Commands and edits. */
      readonly toolCalls: number;
    };
  }[];
  /** Sums over all attempts. */
  readonly totals?: {
    /** Amounts that the task has used. */
    readonly usage?: {
      /** Tokens that chat models read; other engines report none. */
      readonly tokensIn: number;
      /** Tokens that chat models wrote; other engines report none. */
      readonly tokensOut: number;
      /** Cost by the prices of the pool, in its currency; absent: nothing with a price was used. */
      readonly cost?: string;
      /** Commands and edits. */
      readonly toolCalls: number;
      /** Of tokensIn, those that a provider read from a cache. */
      readonly tokensCached?: number;
      /** Processor time of commands, in milliseconds. */
      readonly cpuMillis: number;
      /** Seconds in which the task ran. */
      readonly wallSeconds: number;
      /** Proposals that were judged. */
      readonly candidates: number;
      /** Proposals that a gate refused. */
      readonly vetoes: number;
      /** Restores of an earlier snapshot. */
      readonly backtracks: number;
    };
  };
  /** Objects that spec.sandbox.storage made. */
  readonly storage?: {
    /** PersistentVolumeClaim that a sandbox works on, or goes on with. */
    readonly claim?: string;
    /** Newest VolumeSnapshot that was ready to use; without a claim, the task goes on from it. */
    readonly volumeSnapshot?: string;
  };
  /** Decisions about acts that waited, oldest first. */
  readonly approvals?: readonly {
    /** Digest of what waited. */
    readonly action: string;
    /** The decision. */
    readonly decision: 'Approved' | 'Rejected' | 'Answered';
    /** The answer to a question; kept for the newest decision only. */
    readonly answer?: string;
    /** Reason that the order gives; kept for the newest decision only. */
    readonly reason?: string;
    /** The order that said so; absent: the time was over. */
    readonly orderRef?: {
      /** Name of the object. */
      readonly name: string;
    };
    /** Person or program that gave the order. */
    readonly requester?: string;
    /** Time of the decision. */
    readonly at: string;
  }[];
  /** Messages that the model has not got yet, oldest first. */
  readonly messages?: readonly {
    /** Uid of the order; the worker reports it in status.run.messagesTaken. */
    readonly id: string;
    /** Person or program that gave the order. */
    readonly requester: string;
    /** The words. */
    readonly text: string;
    /** Snapshot to which all files are put back before. */
    readonly snapshot?: string;
  }[];
  /** Report of the worker about the current attempt. */
  readonly run?: {
    /** Attempt that this is about. */
    readonly attempt: number;
    /** Assignment under which this was written; a report of another one is refused. */
    readonly epoch: number;
    /** Progress of the attempt. */
    readonly progress?: {
      /** Steps that are done. */
      readonly done: number;
      /** Steps of the current plan. */
      readonly total: number;
      /** The current activity, in words. */
      readonly message?: string;
    };
    /** Digest of the plan. */
    readonly plan?: readonly {
      /** Identifier inside the plan. */
      readonly id: string;
      /** Level of the node. */
      readonly kind: 'Goal' | 'Subtask' | 'Step';
      /** Purpose of the node. */
      readonly intent: string;
      /** State of the node. */
      readonly state: 'Pending' | 'Running' | 'Done' | 'Failed' | 'Dropped';
    }[];
    /** Snapshots of the sandbox. */
    readonly snapshots?: {
      /** Taken after set-up. */
      readonly initial?: string;
      /** Newest one at which all checks passed. */
      readonly lastGreen?: string;
      /** Newest durable copy. */
      readonly checkpointURI?: string;
    };
    /** Amounts that this attempt has used. */
    readonly usage?: {
      /** Tokens that chat models read; other engines report none. */
      readonly tokensIn: number;
      /** Tokens that chat models wrote; other engines report none. */
      readonly tokensOut: number;
      /** Cost by the prices of the pool, in its currency; absent: nothing with a price was used. */
      readonly cost?: string;
      /** Commands and edits. */
      readonly toolCalls: number;
      /** Of tokensIn, those that a provider read from a cache. */
      readonly tokensCached?: number;
      /** Processor time of commands, in milliseconds. */
      readonly cpuMillis: number;
      /** Seconds in which the task ran. */
      readonly wallSeconds: number;
      /** Proposals that were judged. */
      readonly candidates: number;
      /** Proposals that a gate refused. */
      readonly vetoes: number;
      /** Restores of an earlier snapshot. */
      readonly backtracks: number;
    };
    /** Measures on which the last decision was based, as rollouts count it; the event log has all of each decision. */
    readonly signals?: {
      /** Energy of the chosen candidate; lower is better. */
      readonly energy?: string;
      /** Calibrated probability that the chosen candidate is good. */
      readonly pSuccess?: string;
      /** Parts that did not answer, and what is done without them. */
      readonly degraded?: readonly string[];
    };
    /** Experts that took part. */
    readonly experts?: readonly {
      /** Its part. */
      readonly role: 'Generalist' | 'Specialist' | 'Draft' | 'Planner' | 'Verifier' | 'Embedder' | 'Policy';
      /** Its name in the pool. */
      readonly name: string;
      /** Digest of the artifact that ran. */
      readonly digest?: string;
    }[];
    /** The act or question that waits for a person. */
    readonly pendingApproval?: {
      /** Digest of the act, question or review; an order must name it. */
      readonly action: string;
      /** Act: to be approved. Question: to be answered. Review: the result, to be accepted. Absent: Act. */
      readonly kind?: 'Act' | 'Question' | 'Review';
      /** The act in words, cut where it is longer. The artifact whose sha256 is that of action has all of it. */
      readonly summary: string;
      /** The question of the model, as it asks it. */
      readonly question?: string;
      /** Reason for which it is held. */
      readonly evidence?: string;
      /** Time at which it is treated as rejected, or as not answered. */
      readonly expires: string;
    };
    /** The wall around the sandbox, as probed from inside. */
    readonly isolation?: {
      /** Strongest level in force. */
      readonly level: 'Container' | 'Seccomp' | 'Landlock' | 'UserNamespace' | 'RuntimeClass';
      /** Whether the network policy holds. */
      readonly network: 'Probing' | 'Enforced' | 'NotEnforced';
      /** RuntimeClass of the pod. */
      readonly runtimeClass?: string;
    };
    /** Head of the event log, SHA-256 in hexadecimal. */
    readonly auditRoot?: string;
    /** Files that outlive the sandbox. */
    readonly artifacts?: readonly {
      /** Its name. */
      readonly name: string;
      /** Address of the artifact. */
      readonly uri: string;
      /** SHA-256, hexadecimal. */
      readonly sha256: string;
      /** Its size. */
      readonly bytes: number;
    }[];
    /** Outcomes of the copies of requests that a revision in shadow got: counts only, over all attempts. */
    readonly shadow?: {
      /** The rollout in whose shadow phase they were sent. */
      readonly rollout: string;
      /** Copies that were answered. */
      readonly answered: number;
      /** Copies without an answer, or with one that is none. */
      readonly failed: number;
      /** Copies that were not sent or not waited for, so that they delay nothing. */
      readonly dropped: number;
      /** Proposals of which both had a first candidate. */
      readonly candidates: number;
      /** Those whose first candidate is the same, by its hash. */
      readonly sameCandidates: number;
      /** Acts that both verifiers refuse. */
      readonly bothVetoed: number;
      /** Acts that only the stable one refuses. */
      readonly onlyStableVetoed: number;
      /** Acts that only the shadow would refuse. */
      readonly onlyShadowVetoed: number;
      /** Acts that neither refuses. */
      readonly neitherVetoed: number;
      /** Acts by the bin of the stable one's probability: below 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99 and above. */
      readonly stableBins?: readonly number[];
      /** The same acts by the bin of the shadow's probability. */
      readonly shadowBins?: readonly number[];
    };
    /** Answer of the model, cut with a marker; the whole is the artifact answer.md. */
    readonly answer?: string;
    /** Messages of status.messages that the model has got, the newest last. */
    readonly messagesTaken?: readonly string[];
    /** Change as a unified diff, cut with a marker. */
    readonly patch?: string;
    /** Destination of the result; the condition Delivered judges it. */
    readonly output?: {
      /** Branch of the repository. */
      readonly branch: string;
      /** Commit that the branch was pushed with. */
      readonly commit?: string;
      /** Address of the pull request. */
      readonly pullRequest?: string;
      /** Reason for which not all of it was delivered, in CamelCase; absent: all was. */
      readonly reason?: string;
      /** The same in words, with what helps; without a reason: what was left out. */
      readonly message?: string;
    };
    /** The last restore of this attempt. */
    readonly rollback?: {
      /** The snapshot that was restored. */
      readonly snapshot: string;
      /** Whether the tree has the digest of the snapshot. */
      readonly verified: boolean;
      /** Digest of the tree after the restore. */
      readonly manifestDigest?: string;
      /** Effects that could not be undone. */
      readonly irreversible?: readonly string[];
    };
    /** Time at which the work came to rest as directed, with a durable copy of all there is; absent in every report under Run. */
    readonly quiescedAt?: string;
    /** Outcome of the attempt. */
    readonly outcome?: {
      /** Succeeded: all checks hold. Stopped: as directed. */
      readonly result: 'Succeeded' | 'Failed' | 'Stopped';
      /** Class of the failure. */
      readonly class?: 'Infrastructure' | 'AgentError' | 'CheckFailed' | 'Unproved' | 'Vetoed' | 'PolicyViolation' | 'BudgetExceeded' | 'Stuck' | 'DeadlineExceeded' | 'ApprovalRejected' | 'InvalidInput';
      /** Reason in CamelCase, for programs. */
      readonly reason: string;
      /** Reason in words. */
      readonly message?: string;
      /** Results of the checks. */
      readonly checks?: readonly {
        /** Name of the check. */
        readonly name: string;
        /** Tests that passed. */
        readonly passed: number;
        /** Tests that failed. */
        readonly failed: number;
        /** Tests that did not run. */
        readonly skipped: number;
        /** Wall time, rounded up. */
        readonly seconds: number;
      }[];
    };
  };
}

/** A person's decision about a task (approve, reject, answer, tell or cancel), or about a rollout (approve or reject). */
export interface AgentTaskOrder {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: ObjectMeta;
  readonly spec: AgentTaskOrderSpec;
  readonly status?: AgentTaskOrderStatus;
}

/** The order. It cannot be changed; create another one. */
export interface AgentTaskOrderSpec {
  /** The AgentTask, in the same namespace. */
  readonly taskRef?: {
    /** Name of the object. */
    readonly name: string;
  };
  /** The pool or the model, in the same namespace, whose rollout is decided about; instead of taskRef. */
  readonly rolloutRef?: {
    /** Kind of the object that is rolled out. */
    readonly kind: 'ExpertPool' | 'EnergyModel';
    /** Name of the object. */
    readonly name: string;
  };
  /** The revision that is tried, from status.rollout.canary; with rolloutRef. */
  readonly revision?: string;
  /** Approve or Reject the act that waits, or the revision that is tried. Answer the question that waits. Message: words for the model at its next step. Cancel the task and restore snapshot 0. */
  readonly type: 'Approve' | 'Reject' | 'Answer' | 'Message' | 'Cancel';
  /** Digest of the act, from status.run.pendingApproval.action; with Approve, Reject and Answer. */
  readonly action?: string;
  /** The answer, or the words for the model; with Answer and Message. */
  readonly message?: string;
  /** With Message: before the model reads it, all files are put back as they were at this snapshot of its conversation. */
  readonly snapshot?: string;
  /** Reason, for the record. */
  readonly reason?: string;
  /** User name of who orders; it must be the caller. */
  readonly requester: string;
}

/** Observed state of the order. */
export interface AgentTaskOrderStatus {
  /** Accepted: it will be done. Refused: it will not, see message. Done: it is. */
  readonly state?: 'Accepted' | 'Refused' | 'Done';
  /** Reason in words. */
  readonly message?: string;
  /** Time at which state last changed. */
  readonly at?: string;
}
