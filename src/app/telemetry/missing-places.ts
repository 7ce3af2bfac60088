import { EVERYWHERE } from '../../access/grants.ts'
import { type AccessPolicy, ITS_NAMESPACE } from '../../access/rules.ts'
import type { Logger } from './logger.ts'

/** Warns of grants in missing namespaces. A grant in a missing namespace takes effect when the namespace is created. */
export const tellMissingPlaces = (
  { rules, unmatched }: Pick<AccessPolicy, 'rules' | 'unmatched'>,
  isThere: (namespace: string) => boolean,
  logger: Pick<Logger, 'warn'>,
): void => {
  const given = [
    ...rules.map(({ name, grants }) => [`authorization.rules: rule "${name}"`, grants] as const),
    ...(typeof unmatched === 'object' ? [['authorization.unmatched', unmatched] as const] : []),
  ]
  for (const [what, grants] of given) {
    const places = new Set(grants.map(({ place }) => place).filter((place) => place !== ITS_NAMESPACE))
    places.delete(EVERYWHERE)
    for (const place of places)
      if (!isThere(place)) logger.warn(`${what} grants in namespace "${place}", which does not exist`)
  }
}
