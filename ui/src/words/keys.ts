const mac = /Mac|iPhone|iPad/.test(navigator.platform)

/** Name of the command key on this platform. */
export const control = mac ? '⌘' : 'Ctrl'

const names: Readonly<Record<string, string>> = {
  Control: control,
  Meta: '⌘',
  Escape: 'Esc',
  ArrowUp: '↑',
  ArrowDown: '↓',
}

/** Formats a shortcut: `Control+K Meta+K` → `Ctrl K`. A sequence of keys stays unchanged: `g f`. */
export const shownKeys = (keys: string): string => {
  const [first = ''] = keys.includes('+') ? keys.split(' ') : [keys]
  return first
    .split('+')
    .map((key) => names[key] ?? key)
    .join(' ')
}
