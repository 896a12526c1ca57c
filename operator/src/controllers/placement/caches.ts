import { labels } from '@agentfleet/protocol/pool';
import type { CacheOptions } from '../../runtime/caches.ts';
import { type DeviceClass, type PublishedSlice, resources } from '../../runtime/resources.ts';
import { OptionalCache } from '../../runtime/optionalCache.ts';
import { slimObject } from '../../runtime/transforms.ts';
import { placementComponent } from './claims.ts';

/** What of GPUs the API server shows; empty where it knows no dynamic resource allocation. */
export interface GpuCaches {
  readonly slices: OptionalCache<PublishedSlice>;
  readonly deviceClasses: OptionalCache<DeviceClass>;
  /** Claims that we made. */
  readonly claims: OptionalCache;
}

/** Makes the caches; the process runs them. `driver` publishes the GPUs, other devices are not kept. */
export function createGpuCaches(options: CacheOptions, driver: string): GpuCaches {
  return {
    slices: new OptionalCache({
      ...options,
      resource: resources.resourceSlices,
      fieldSelector: `spec.driver=${driver}`,
      transform: slimObject,
    }),
    deviceClasses: new OptionalCache({ ...options, resource: resources.deviceClasses, transform: slimObject }),
    claims: new OptionalCache({
      ...options,
      resource: resources.resourceClaims,
      labelSelector: `${labels.component}=${placementComponent}`,
      transform: slimObject,
    }),
  };
}
