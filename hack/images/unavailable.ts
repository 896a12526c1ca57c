// hack, images: error for an external part that is not available. Of other folders imports hack/cache, hack/cluster/build.

/** An external part that is not available now. An optional image is left out; of another it is a failure. */
export class PartUnavailable extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'PartUnavailable';
  }
}
