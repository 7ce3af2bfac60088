const mac = /Mac|iPhone|iPad/.test(navigator.platform)

/** The key that gives commands, as this machine writes it. */
export const control = mac ? '⌘' : 'Ctrl'

const names: Readonly<Record<string, string>> = {
  Control: control,
  Meta: '⌘',
  Escape: 'Esc',
  ArrowUp: '↑',
  ArrowDown: '↓',
}

/** A shortcut as it is read: `Control+K Meta+K` → `Ctrl K`. Keys that are pressed after one another stand so: `g f`. */
export const shownKeys = (keys: string): string => {
  const [first = ''] = keys.includes('+') ? keys.split(' ') : [keys]
  return first
    .split('+')
    .map((key) => names[key] ?? key)
    .join(' ')
}
