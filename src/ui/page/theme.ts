import { useEffect, useState } from 'preact/hooks';

/** Empty is what the system prefers. */
type Theme = 'light' | 'dark' | '';

/** The colors that the reader chose; the choice is kept in the browser. */
export function useTheme(): [Theme, (theme: Theme) => void] {
  const [theme, setTheme] = useState<Theme>(() => {
    const stored = read();
    return stored === 'light' || stored === 'dark' ? stored : '';
  });
  useEffect(() => {
    if (theme === '') delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    try {
      localStorage.setItem('theme', theme);
    } catch {
      // A browser without storage forgets the choice.
    }
  }, [theme]);
  return [theme, setTheme];
}

function read(): string | null {
  try {
    return localStorage.getItem('theme');
  } catch {
    return null;
  }
}

export function isDark(theme: Theme): boolean {
  return theme === '' ? matchMedia('(prefers-color-scheme: dark)').matches : theme === 'dark';
}
