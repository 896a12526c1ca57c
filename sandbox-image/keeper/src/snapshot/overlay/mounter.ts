// sandbox-image/keeper, snapshot/overlay: interface of the process that mounts layers. May import the rest of snapshot, and protocol.

/** One root for the mounter. */
export interface LayeredRoot {
  readonly target: string;
  /** Directories from the top to the bottom. */
  readonly lower: readonly string[];
  readonly upper: string;
  readonly work: string;
}

/** Process with the right to mount. After a rejection nothing has changed. */
export interface Mounter {
  /** Puts new mounts in the place of the old ones, here and where commands run. */
  mount(roots: readonly LayeredRoot[]): Promise<void>;
  /** Makes `upper` one layer that reads as all of `lower`. */
  flatten(roots: readonly LayeredRoot[]): Promise<void>;
  /** Removes directories with all that is in them. */
  remove(paths: readonly string[]): Promise<void>;
}
