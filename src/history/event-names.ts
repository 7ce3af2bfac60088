import { catalog } from '../events/catalog.ts'
import { namedShapes, typeName } from '../events/define.ts'
import { METHODS } from '../events/token.ts'

/** Names of types, categories and methods that this version knows. */
export const knownNames = {
  types: new Set(Object.values(catalog).flatMap((shapes) => namedShapes(shapes).map(([wire]) => typeName(wire)))),
  categories: new Set(Object.keys(catalog)),
  methods: METHODS,
}

/** Events of flags and segments that no client sees as a change. */
export const QUIET_CHANGES = [
  'FlagRegistered',
  'FlagUnregistered',
  'SegmentAttached',
  'SegmentDetached',
  'ReservationVoided',
] as const

/** All events that no client sees as a change, by their present and former names. */
export const QUIET_EVENTS = [
  ...QUIET_CHANGES,
  'MembersProbed',
  'InstancesCalled',
  'MemberResponded',
  'InstanceAnswered',
] as const
