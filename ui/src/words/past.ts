export const past = {
  why: 'This is the past.',
  region: 'Past',
  seen: (instant: string, zone: string, position: string | undefined) =>
    `You see the state as of ${instant} ${zone}${position === undefined ? '' : ` (#${position})`}. Nothing can be changed here.`,
  backToNow: 'Back to now',
  now: 'Time: now',
  at: (moment: string) => `Time: ${moment}`,
  short: 'Now',
  moment: 'Moment',
  position: 'Position',
  hourAgo: '1 hour ago',
  yesterday: 'Yesterday, same time',
  show: 'Show this moment',
}
