import type { Clock } from '../../base/clock.ts'
import type { Info, Readiness as ReadinessAnswer } from '../../contract/operations.ts'
import type { Metrics } from '../metrics/metrics.ts'

type Readiness = { readonly ready: boolean; readonly checks: NonNullable<ReadinessAnswer['checks']> }

/** Facts about this instance. */
export type InstanceServices = {
  readonly readiness: () => Promise<Readiness>
  /** Bodies of GET /meta/info and GET /meta/config. */
  readonly about: { readonly info: Info; readonly config: Readonly<Record<string, unknown>> }
  readonly metrics: Metrics
  readonly clock: Clock
}
