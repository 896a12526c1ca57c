/** The base of every run on a real node: the cluster is up and holds our images. Imports cluster and images. */
import { up, type Cluster, type UpOptions } from '../cluster/index.ts';
import { buildImages, type BuiltImage } from '../images/index.ts';

export interface TestEnvironment {
  readonly cluster: Cluster;
  readonly images: readonly BuiltImage[];
  /** Reference of an image by its short name; throws for a name that is not built here. */
  image(name: string): string;
}

/** Raises the cluster with a node, builds the images that are not in the cache, and imports them. Idempotent. */
export async function startEnvironment(options: UpOptions = {}): Promise<TestEnvironment> {
  const [cluster, images] = [await up({ tier: 'node', ...options }), await buildImages()];
  for (const image of images) if (image.name !== 'base') await cluster.importImage(image.archive);
  return {
    cluster,
    images,
    image: (name) => {
      const found = images.find((image) => image.name === name);
      if (found === undefined) throw new Error(`no image named ${name}; there are: ${images.map((image) => image.name).join(', ')}`);
      return found.ref;
    },
  };
}
