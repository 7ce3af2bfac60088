import { version } from '../../base/version.ts'
import { clusterMember } from '../core/cluster-member.ts'
import type { Core } from '../core/core.ts'

/** Membership of this instance in the cluster; none on an embedded store. */
export const membershipOf = (core: Core) => {
  const { config, log, lease } = core
  if (!lease) return {}
  const onError = core.onError('the list of running instances in the event log cannot be updated')
  const { join, leave } = clusterMember({ ...core, version, fresh: lease.fresh, onError })
  return {
    begin: async (): Promise<void> => join(config.eventstore.all_on_roll || (await log.first()) === undefined),
    close: leave,
  }
}
