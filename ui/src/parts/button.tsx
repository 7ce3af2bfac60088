import type { ComponentProps, ReactNode } from 'react'
import { usePreferences } from '../preferences.ts'
import { common } from '../words/common.ts'
import { past } from '../words/past.ts'
import { tip } from './feedback/tip.ts'

export type ButtonLook = 'primary' | 'danger' | 'danger solid' | 'plain' | 'icon plain'
type ButtonProps = Omit<ComponentProps<'button'>, 'disabled' | 'className'> & {
  readonly look?: ButtonLook
  /** Why it does nothing now; it stays in reach of the keyboard and says so. */
  readonly why?: string | undefined
  /** What it says while what it began is under way. */
  readonly busy?: string | undefined
}

/** The class of a button, for links that look like one. */
export const buttonClass = (look?: ButtonLook): string => (look ? `button ${look}` : 'button')

/** Leaves out of Tab what nothing can be done with, because this is the past. */
export const stopOf = (why: string | undefined): { readonly tabIndex?: -1 } =>
  why === past.why ? { tabIndex: -1 } : {}

/** A button. While it is busy, or has a reason not to act, a press does nothing. */
export const Button = ({ look, why, busy, onClick, children, type = 'button', ...rest }: ButtonProps) => {
  const { singleKeys } = usePreferences()
  const key = rest['aria-keyshortcuts']
  const words = why ?? (key !== undefined && singleKeys ? common.shortcut(key) : undefined)
  const idle = why !== undefined || busy !== undefined
  return (
    <button
      {...rest}
      {...(words !== undefined && tip(words))}
      {...stopOf(why)}
      type={type}
      className={buttonClass(look)}
      aria-disabled={idle || undefined}
      onClick={(event) => {
        if (idle) event.preventDefault()
        else onClick?.(event)
      }}
    >
      {busy ?? children}
    </button>
  )
}

/** A button with only an icon: its name is its tooltip, or why it does nothing now. */
export const IconButton = ({
  name,
  icon,
  ...rest
}: Omit<ButtonProps, 'children'> & { readonly name: string; readonly icon: ReactNode }) => (
  <button
    {...plain(rest)}
    {...stopOf(rest.why)}
    {...(rest.why === undefined ? { 'data-tip': name } : tip(rest.why))}
    type="button"
    className={buttonClass(rest.look ?? 'icon plain')}
    aria-label={name}
    aria-disabled={rest.why !== undefined || rest.busy !== undefined || undefined}
    onClick={(event) => {
      if (rest.why === undefined && rest.busy === undefined) rest.onClick?.(event)
    }}
  >
    {icon}
  </button>
)

const plain = ({ look: _look, why: _why, busy: _busy, ...rest }: Omit<ButtonProps, 'children'>) => rest
