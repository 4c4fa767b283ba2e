/** The style sheet of a golden's page. The page's policy allows it by its hash, and no other. */
export const PAGE_STYLE = `
:root{color-scheme:light dark;
--paper:light-dark(#f7f6f3,#131518);--card:light-dark(#fff,#1b1e23);--ink:light-dark(#1d2126,#e8e6e1);
--soft:light-dark(#5b6168,#a2a8b0);--line:light-dark(#e2dfd8,#30353c);--code:light-dark(#f5f4f0,#14171b);
--user:light-dark(#4a4fc4,#a3a8ff);--model:light-dark(#0b6e6a,#5fd0c8);--tool:light-dark(#8a5200,#f0b35a);
--bad:light-dark(#b3261e,#ff9a90);--good:light-dark(#1d6b34,#7fd897);--notice:light-dark(#7a3e9d,#d3a3f0);
--bad-soft:light-dark(#fdf0ee,#2b1a19);--string:light-dark(#22633a,#9bd8ab);--number:light-dark(#8f3b1b,#f2ab83);--key:light-dark(#31497a,#a9c1f5)}
:root:has(#light:checked){color-scheme:light}
:root:has(#dark:checked){color-scheme:dark}
*{box-sizing:border-box}
html{scroll-behavior:smooth;scroll-padding-top:1rem}
@media (prefers-reduced-motion:reduce){html{scroll-behavior:auto}}
body{margin:0;background:var(--paper);color:var(--ink);font:16px/1.55 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif}
.top,main,footer{max-width:60rem;margin:0 auto;padding:0 1.25rem}
a{color:inherit;text-underline-offset:.2em}
:focus-visible{outline:2px solid var(--user);outline-offset:2px;border-radius:4px}
.skip{position:absolute;left:-99rem}
.skip:focus{left:1rem;top:1rem;background:var(--card);padding:.5rem 1rem;z-index:1}
.top{display:grid;grid-template-columns:1fr auto;gap:0 1.5rem;padding-top:2.5rem}
h1{font-size:clamp(1.6rem,1.2rem + 2vw,2.3rem);line-height:1.15;letter-spacing:-.02em;margin:.35rem 0 .5rem;overflow-wrap:anywhere}
h2{font-size:1.1rem;margin:2.25rem 0 .75rem}
.kicker{margin:0;color:var(--soft);font-size:.875rem}
.tag{display:inline-block;border:1px solid var(--line);border-radius:99px;padding:0 .6em;background:var(--card);color:var(--ink)}
.tag.scripted{color:var(--tool);border-color:currentColor}
.tag.recorded{color:var(--model);border-color:currentColor}
.lead{margin:0;max-width:46rem;color:var(--soft)}
.problem{margin:.75rem 0 0;padding:.5rem .8rem;border-left:4px solid var(--bad);background:var(--bad-soft);border-radius:4px;overflow-wrap:anywhere}
.theme{align-self:start;border:1px solid var(--line);border-radius:8px;padding:2px;margin:0;display:flex;background:var(--card);font-size:.8rem}
.theme legend,.theme input{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)}
.theme span{display:block;padding:.2rem .6rem;border-radius:6px;cursor:pointer;color:var(--soft)}
.theme input:checked+span{background:var(--paper);color:var(--ink);box-shadow:inset 0 0 0 1px var(--line)}
.theme input:focus-visible+span{outline:2px solid var(--user)}
.figures{grid-column:1/-1;display:grid;grid-template-columns:repeat(auto-fit,minmax(8.6rem,1fr));gap:.75rem;margin:1.5rem 0 0}
.figures>div{background:var(--card);border:1px solid var(--line);border-radius:10px;padding:.65rem .75rem}
dt{font-size:.8rem;color:var(--soft)}
dd{margin:0;font-size:1.2rem;font-weight:600;line-height:1.3;font-variant-numeric:tabular-nums;overflow-wrap:anywhere}
dd small{display:block;font-size:.78rem;font-weight:400;color:var(--soft)}
.good dd{color:var(--good)}
.bad dd{color:var(--bad)}
.failures ul{list-style:none;margin:0;padding:0;display:grid;gap:.6rem}
.failures li{background:var(--bad-soft);border-left:4px solid var(--bad);border-radius:6px;padding:.6rem .9rem}
.what{margin:0;font-weight:600;overflow-wrap:anywhere}
.timeline{width:100%;border-collapse:separate;border-spacing:0;font-size:.86rem;table-layout:fixed;background:var(--card);border:1px solid var(--line);border-radius:10px;overflow:hidden}
.timeline th,.timeline td{text-align:left;font-weight:400;padding:.32rem .6rem;white-space:nowrap;overflow:hidden;text-overflow:ellipsis}
.timeline thead th{color:var(--soft);font-size:.78rem;border-bottom:1px solid var(--line)}
.timeline th:first-child{width:32%}
.timeline .num{text-align:right;font-variant-numeric:tabular-nums;width:5.6rem}
.timeline a{text-decoration:none}
.timeline a:hover{text-decoration:underline}
.timeline svg{display:block;width:100%;height:.6rem;border-radius:3px}
.track{fill:var(--paper)}
.bar{fill:var(--row)}
.in{fill:var(--user)}
.out{fill:var(--model)}
.key{display:inline-block;width:.6em;height:.6em;border-radius:2px;margin-left:.5em}
.key.in{background:var(--user)}
.key.out{background:var(--model)}
.no{display:inline-block;min-width:1.6em;color:var(--soft);font-variant-numeric:tabular-nums}
.model{--row:var(--model)}.tool{--row:var(--tool)}.user{--row:var(--user)}.notice{--row:var(--notice)}.system{--row:var(--soft)}
.failed{--row:var(--bad)}
.more{color:var(--soft);font-size:.86rem}
.steps{list-style:none;margin:0;padding:0;display:grid;gap:.75rem}
.step{background:var(--card);border:1px solid var(--line);border-left:4px solid var(--row);border-radius:8px;padding:.8rem 1rem;min-width:0}
.step:target{box-shadow:0 0 0 2px var(--row)}
.tool.step{margin-left:1.5rem}
.head{display:flex;flex-wrap:wrap;gap:.15rem .6rem;align-items:baseline}
.head .no{text-decoration:none;min-width:auto;font-size:.8rem}
h3{margin:0;font-size:1rem;color:var(--row);overflow-wrap:anywhere}
.facts{margin:0;color:var(--soft);font-size:.82rem;font-variant-numeric:tabular-nums;overflow-wrap:anywhere}
pre{margin:.5rem 0 0;white-space:pre-wrap;overflow-wrap:anywhere;unicode-bidi:isolate}
.prose{font:inherit}
.json,.bad:is(pre){font:.86rem/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;background:var(--code);border:1px solid var(--line);border-radius:6px;padding:.55rem .75rem}
.bad:is(pre){color:var(--bad);background:var(--bad-soft)}
.failures pre.bad{background:none;border:0;padding:0;margin:.2rem 0 0}
.k{color:var(--key)}.s{color:var(--string)}.n{color:var(--number)}
.part{margin:.6rem 0 -.3rem;font-size:.78rem;color:var(--soft)}
.call p{margin:.6rem 0 0}
.call pre{margin-top:.3rem}
.arrow{color:var(--tool)}
.recovery{margin:.5rem 0 0;color:var(--notice);font-size:.9rem}
details{margin:.5rem 0 0}
summary{cursor:pointer;color:var(--soft);overflow-wrap:anywhere}
summary:hover{color:var(--ink)}
.size{font-size:.78rem;border:1px solid var(--line);border-radius:99px;padding:0 .5em;white-space:nowrap}
footer{color:var(--soft);font-size:.82rem;padding-block:2rem 3rem}
@media (max-width:40rem){.top{grid-template-columns:1fr}.theme{justify-self:start;margin-top:.75rem;grid-row:2}.tool.step{margin-left:.5rem}.timeline th:nth-child(4),.timeline td:nth-child(4){display:none}}
@media print{.theme,.skip{display:none}body{background:#fff}.step{break-inside:avoid}}
`;
