// page.js - a page that C wrote: its data is in it.

prepare();
show(decodePage());
ready();
