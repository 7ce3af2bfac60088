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
